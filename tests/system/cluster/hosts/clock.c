/* A library to preload: the clock of a host that is CLOCK_DIFFERENCE seconds fast. Durations are not changed. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static time_t difference(void) {
    const char *text = getenv("CLOCK_DIFFERENCE");
    return text ? atoi(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int status = (int)syscall(SYS_clock_gettime, clock, now);
    if (status == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE)) now->tv_sec += difference();
    return status;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    int status = (int)syscall(SYS_gettimeofday, now, zone);
    if (status == 0) now->tv_sec += difference();
    return status;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}
