// Package rrule is the dialect of RFC 5545: recurrence rules.
//
// Rules of whole days are patterns on the wall clock. Rules below the day (HOURLY, MINUTELY,
// SECONDLY) are elapsed time, which the BY parts filter (D-Z5).
package rrule
