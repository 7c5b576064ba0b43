//go:build race

package sap

// underRace reports whether the race detector is on.
const underRace = true
