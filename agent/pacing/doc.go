// Package pacing decides when an agent calls the control database, and for how many tasks: how long
// it waits after a pass, how many tasks it claims, when it delivers outcomes and renews its lease.
// All decisions are functions of counts and times. The agent makes them with its own, and the
// simulation of large fleets (testenv/capacity) with those of a model.
package pacing
