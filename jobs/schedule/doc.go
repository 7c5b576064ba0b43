// Package schedule computes when schedules are due. It is pure: it uses neither the clock nor the
// time zone of this machine, and the same call always returns the same result.
//
// Vocabulary. A schedule is a set of instants, the due instants, in whole seconds and UTC.
// [Schedule] has one method, Next. It returns the first due instant strictly after a given instant.
// The agent calls it once for each due instant that becomes a run, and stores the result. No code
// asks whether "now" matches. The caller specifies the kind of a schedule ([Kind]); the package
// never guesses it from the text. [Parse] parses a specification of a kind into a [Plan], or
// reports every fault ([Error]). [PreviewSpec] lists the due instants of a specification.
//
// A pattern is a set of civil seconds: dates with clock times, without a zone. Only the type
// engine.Wall maps a pattern to instants, and only it handles changes of clocks. A grid is elapsed
// time and does not depend on a zone.
//
// The kinds are packages under internal; DESIGN.md has the map.
//
// Common mistakes: counting a due instant from the last run. A due instant is counted from the
// schedule's anchor, so that a late run moves nothing; the exception is SAP's repeatInterval
// ([Plan.Started]). Trusting time.Date or time.ZoneBounds near a change of clocks; see DESIGN.md.
package schedule
