/* An agent whose wall clock is three hours ahead: no namespace does that. */
#define _GNU_SOURCE
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now)
{
	int result = syscall(SYS_clock_gettime, clock, now);
	if (result == 0 && clock == CLOCK_REALTIME)
		now->tv_sec += 3 * 3600;
	return result;
}
