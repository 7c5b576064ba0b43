package testenv

import (
	"flag"
	"os"
	"testing"
)

// envLong runs the tests that Long leaves out; .ci/long sets it.
const envLong = "JOBAGENT_TEST_LONG"

// Long skips a test whose cost is out of proportion to what a run of all tests on a developer's
// machine may take, unless JOBAGENT_TEST_LONG is set or tests are chosen by name (go test -run).
// Other tests of the same code run always: shorter ones of the same package, or the scripts of
// testenv/script, which call every procedure.
func Long(t testing.TB) {
	t.Helper()
	if !IsLong() && !named() {
		t.Skip("takes longer than a run of all tests on a developer's machine permits: " + envLong + "=1 runs it, as .ci/long does, and so does -run with its name")
	}
}

// named reports whether the tests of this process are chosen by name.
func named() bool {
	run := flag.Lookup("test.run")
	return run != nil && run.Value.String() != ""
}

// IsLong reports whether JOBAGENT_TEST_LONG is set, for tests that take a sample otherwise.
func IsLong() bool { return os.Getenv(envLong) != "" }

// Sample returns the extent of a test: sample, or all if JOBAGENT_TEST_LONG is set.
func Sample[T any](sample, all T) T {
	if IsLong() {
		return all
	}
	return sample
}
