// Package schedule computes when schedules are due. It is pure: it uses neither the clock nor the
// time zone of this machine, and the same question always has the same answer.
//
// Vocabulary. A schedule is a set of instants, the due instants, in whole seconds and UTC.
// [Schedule] answers one question about it: what is the first one strictly after a given instant.
// The agent asks it once for each due instant that it turns into a run, and stores the answer; no
// code asks whether "now" matches. The kind of a schedule is given ([Kind]), never guessed from its
// text. [Parse] reads a specification of a kind into a [Plan], or reports every fault ([Error]);
// [PreviewSpec] lists what a specification would make due.
//
// A pattern is a set of civil seconds: dates with clock times, without a zone. Only wall maps them
// to instants, and knows what to do where clocks are changed. A grid is elapsed time, and no zone
// touches it.
//
// The kinds are packages under internal; DESIGN.md has the map.
//
// Common mistakes: counting a due instant from the last run. A due instant is counted from the
// schedule's anchor, so that a late run moves nothing; the exception is SAP's repeatInterval
// ([Plan.Started]). Trusting time.Date or time.ZoneBounds near a change of clocks; see DESIGN.md.
package schedule
