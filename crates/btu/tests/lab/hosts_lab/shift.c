/* An agent whose wall clock is three hours ahead: no namespace does that. Once the file that SHIFT_SLEPT names is there, its
 * machine seems to have slept 20 minutes, and once that of SHIFT_STEPPED is, its wall clock to have been set so far ahead. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MINUTES 60

static int happened(const char *name)
{
	const char *file = getenv(name);
	return file && access(file, F_OK) == 0;
}

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int result = syscall(SYS_clock_gettime, clock, now);
	if (result != 0)
		return result;
	if (clock == CLOCK_REALTIME)
		now->tv_sec += 180 * MINUTES;
	if ((clock == CLOCK_REALTIME || clock == CLOCK_BOOTTIME) && happened("SHIFT_SLEPT"))
		now->tv_sec += 20 * MINUTES;
	if (clock == CLOCK_REALTIME && happened("SHIFT_STEPPED"))
		now->tv_sec += 20 * MINUTES;
	return result;
}
