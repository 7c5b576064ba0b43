package testenv

import (
	"os"
	"testing"
)

// envLong runs the tests that Long leaves out; .ci/run sets it.
const envLong = "JOBAGENT_TEST_LONG"

// Long skips a test whose cost is out of proportion to what a run of all tests on a developer's
// machine may take, unless JOBAGENT_TEST_LONG is set. Other tests of the same code run always.
func Long(t testing.TB) {
	t.Helper()
	if !IsLong() {
		t.Skip("takes longer than a run of all tests on a developer's machine permits: " + envLong + "=1 runs it, as .ci/run does")
	}
}

// IsLong reports whether [Long] leaves nothing out, for tests that take a sample otherwise.
func IsLong() bool { return os.Getenv(envLong) != "" }

// Sample returns the extent of a test: sample, or all if [Long] leaves nothing out.
func Sample[T any](sample, all T) T {
	if IsLong() {
		return all
	}
	return sample
}
