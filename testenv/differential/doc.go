// Package differential compares package schedule with independent engines over random valid rules:
// robfig/cron and croniter for cron5 and cron6, rrule-go, dateutil and libical for rrule. The
// engines in Go always take part, the others where they are installed. Every difference needs an
// explanation: a predicate in this package, with its reason and its source. A difference without
// one fails the test.
//
// -differential.rules sets the number of rules for each engine, -differential.seed the seed of the
// random numbers.
package differential
