// A saturated CSMA segment in ns-3: N stations, each with always one more frame, sent to the next one. A station that
// is alone sends to one that only listens.
//
// Arguments: stations, frame octets with header and check sequence, simulated milliseconds.
// Prints one line of JSON: delivered frames, seconds of processor time in the event loop (without building the network).
#include <ctime>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "ns3/core-module.h"
#include "ns3/csma-module.h"
#include "ns3/network-module.h"

using namespace ns3;

static uint64_t delivered = 0;
static uint32_t payload = 0;

// The device reports each frame that has left; as many are sent as have left, so its queue never runs dry.
static void Refill(Ptr<CsmaNetDevice> device, Address next, Ptr<const Packet>)
{
    device->Send(Create<Packet>(payload), next, 0x0800);
}

static bool Receive(Ptr<NetDevice>, Ptr<const Packet>, uint16_t, const Address&)
{
    ++delivered;
    return true;
}

static double ProcessorSeconds()
{
    timespec time{};
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return time.tv_sec + time.tv_nsec / 1e9;
}

int main(int argc, char** argv)
{
    if (argc != 4)
    {
        std::fprintf(stderr, "usage: saturated_csma STATIONS FRAME_OCTETS MILLISECONDS\n");
        return 2;
    }
    const uint32_t stations = std::atoi(argv[1]);
    payload = std::atoi(argv[2]) - 18; // header 14, check sequence 4
    NodeContainer nodes;
    nodes.Create(stations == 1 ? 2 : stations);
    CsmaHelper csma;
    csma.SetChannelAttribute("DataRate", StringValue("10Mbps"));
    csma.SetChannelAttribute("Delay", TimeValue(NanoSeconds(3955))); // 914 m at 0.77 c
    NetDeviceContainer devices = csma.Install(nodes);
    for (uint32_t n = 0; n < nodes.GetN(); ++n)
    {
        devices.Get(n)->SetReceiveCallback(MakeCallback(&Receive));
    }
    for (uint32_t n = 0; n < stations; ++n)
    {
        Ptr<CsmaNetDevice> device = DynamicCast<CsmaNetDevice>(devices.Get(n));
        Address next = devices.Get((n + 1) % nodes.GetN())->GetAddress();
        device->TraceConnectWithoutContext("PhyTxEnd", MakeBoundCallback(&Refill, device, next));
        device->TraceConnectWithoutContext("PhyTxDrop", MakeBoundCallback(&Refill, device, next));
        Simulator::Schedule(NanoSeconds(n), &CsmaNetDevice::Send, device, Create<Packet>(payload), next, uint16_t{0x0800});
        Simulator::Schedule(NanoSeconds(n), &CsmaNetDevice::Send, device, Create<Packet>(payload), next, uint16_t{0x0800});
    }
    Simulator::Stop(MilliSeconds(std::atoi(argv[3])));
    const double begin = ProcessorSeconds();
    Simulator::Run();
    const double seconds = ProcessorSeconds() - begin;
    Simulator::Destroy();
    std::printf("{\"delivered\": %llu, \"seconds\": %.6f}\n", static_cast<unsigned long long>(delivered), seconds);
    return 0;
}
