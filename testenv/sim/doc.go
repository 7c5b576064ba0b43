// Package sim runs the whole system in virtual time. Control database and targets are on one
// embedded server. Any number of agents run, each with its own network that may fail. Everything
// runs in one testing/synctest bubble, so that days take seconds. After each scenario the
// invariants of the design must hold, and the ledgers that the steps write must agree with the
// control database.
//
// The scenarios are this package's tests:
//
//	# every control-database call fails in each of five ways
//	go test ./testenv/sim -run TestSweep -sim.full
//	# thirty days of schedules and faults
//	go test ./testenv/sim -run TestDays -sim.seed=7 -sim.days=30
//	# random calls against a plain model
//	go test ./testenv/sim -run TestModel -rapid.checks=1000 -rapid.steps=100
package sim
