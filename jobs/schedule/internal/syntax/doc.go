// Package syntax parses the parts that are common to the specifications of all kinds of schedule:
// JSON with paths, dates, clock times, lengths of time, time zones, and the common elements. It
// collects every fault of a text, with the path, the value and the nearest valid spelling of each.
//
// A kind of schedule is a [Dialect]. Its function Read takes elements from a [Parser] and returns a
// schedule of package engine.
package syntax
