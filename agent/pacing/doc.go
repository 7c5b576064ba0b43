// Package pacing decides when an agent calls the control database, and for how many tasks: the time
// to the next pass, the number of tasks to claim, and the times of deliveries and renewals. All
// decisions are functions of counts and times. The agent passes its own counts, and the simulation
// of large fleets (testenv/capacity) those of a model.
package pacing
