package exec

import (
	"fmt"
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// Cached batches do not keep the catalogs for which they were compiled: an installation runs a
// thousand batches, and each replaces the catalog.
func TestCachedBatchesKeepNoCatalog(t *testing.T) {
	inst := newInstance(t)
	s := workSession(t, inst)
	var collected atomic.Int64
	const batches = 50
	for i := range batches {
		must(t, s, fmt.Sprintf("DECLARE @n INT = %d, @t TABLE (n INT); IF @n >= 0 SELECT COUNT(*) FROM sys.objects; CREATE TABLE t%[1]d (id INT);", i))
		runtime.AddCleanup(s.DatabaseByID(s.DatabaseID), func(struct{}) { collected.Add(1) }, struct{}{})
	}
	require.Eventually(t, func() bool {
		runtime.GC()
		return collected.Load() >= batches-5 // the session and the store may hold the newest
	}, 10*time.Second, time.Millisecond, "%d of %d catalogs are kept", batches-collected.Load(), batches)
	must(t, s, "DECLARE @n INT = 1, @t TABLE (n INT); IF @n >= 0 SELECT COUNT(*) FROM sys.objects;")
}
