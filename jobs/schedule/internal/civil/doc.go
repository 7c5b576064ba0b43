// Package civil counts days and seconds of the calendar without time zones.
//
// A civil second is a date and clock time as the number of seconds since 1970-01-01T00:00:00 on the
// same clock. Years are 1 to 9999; weekdays are numbered from Monday, which is 0.
package civil
