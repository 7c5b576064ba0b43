// Package rrule is the dialect of RFC 5545: recurrence rules, and the instants of RDATE and EXDATE.
//
// Rules are patterns on the wall clock. A rule below the day (HOURLY, MINUTELY, SECONDLY) without
// BY parts is elapsed time instead (D-Z5).
package rrule
