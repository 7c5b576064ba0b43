//go:build race

package agent_test

// raceDetector reports whether the race detector is on.
const raceDetector = true
