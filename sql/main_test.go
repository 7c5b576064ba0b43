package sqlfs

import (
	"runtime/debug"
	"testing"

	"go.uber.org/goleak"
)

// memoryLimit is the memory from which garbage is collected more often, in bytes.
const memoryLimit = 800 << 20

// Tests walk the trees of all procedures, and leave much garbage. Collecting it less often saves a
// fifth of their time.
func TestMain(m *testing.M) {
	debug.SetGCPercent(400)
	debug.SetMemoryLimit(memoryLimit)
	goleak.VerifyTestMain(m)
}
