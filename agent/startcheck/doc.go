// Package startcheck knows before a run is started whether it would lack parameters: those that its
// job requires, and those that the steps of the current version use. The control database checks
// only declared parameters, because scripts for Azure may start any job.
package startcheck
