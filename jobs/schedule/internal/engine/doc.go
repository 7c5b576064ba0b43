// Package engine finds the due instants of schedules.
//
// A [Pattern] is a set of civil seconds: dates with clock times, without a zone. [Wall] maps a
// pattern to the instants of a zone. It is the only code that handles gaps and overlaps of clocks.
// [Grid] is elapsed time and does not depend on a zone. [Union] and [Bounded] combine schedules.
// [Nth] finds the instant at which a count is reached.
//
// Common mistakes: trusting time.Date or time.ZoneBounds near a change of clocks; see DESIGN.md of
// jobs/schedule.
package engine
