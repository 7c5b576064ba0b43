package runs

import (
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/uuid"
	"github.com/stretchr/testify/assert"
)

// Runs without viewers are forgotten; runs that are viewed stay, however many there are.
func TestSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ws := newWatches()
		viewed := ws.get("/ui/a", uuid.New())
		for range 2 * maxRuns {
			ws.get("/ui/a", uuid.New())
		}
		assert.Len(t, ws.runs, 2*maxRuns+1)
		time.Sleep(viewedTime + time.Second)
		assert.Same(t, viewed, ws.get("/ui/a", viewed.run))
		assert.Len(t, ws.runs, maxRuns)
		assert.NotSame(t, viewed, ws.get("/ui/b", viewed.run), "another control database")
		time.Sleep(idleTime + time.Second)
		ws.get("/ui/c", uuid.New())
		assert.Len(t, ws.runs, 1)
	})
}

// Viewed runs are forgotten, too, when they have too many cells together, and runs that do not
// exist are not kept.
func TestSweepOfLargeRuns(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ws := newWatches()
		for range 10 {
			w := ws.get("/ui/a", uuid.New())
			ws.count("/ui/a", w, maxCells)
			time.Sleep(time.Millisecond)
		}
		assert.Len(t, ws.runs, 5, "four, and the one that was counted last")
		w := ws.get("/ui/b", uuid.New())
		ws.drop("/ui/a", w)
		assert.Contains(t, ws.runs, watchKey{"/ui/b", w.run})
		ws.drop("/ui/b", w)
		assert.NotContains(t, ws.runs, watchKey{"/ui/b", w.run})
	})
}

// Texts that differ with each attempt do not fill the memory.
func TestTextsAreBounded(t *testing.T) {
	w := newWatch(uuid.New(), 1)
	for i := range 4 * maxMessages {
		text := strings.Map(func(r rune) rune { return r - '0' + 'a' }, strconv.Itoa(i)) // letters: no two are the same
		at := w.intern(50000, text)
		assert.Equal(t, at, w.intern(50000, text))
	}
	assert.Len(t, w.groups, maxGroups+1)
	assert.Equal(t, furtherErrors, w.groups[maxGroups].text)
	for i := range 4 * maxMessages {
		w.intern(50000, "a '"+strconv.Itoa(i)+"'")
	}
	assert.LessOrEqual(t, len(w.messages), maxMessages+maxGroups+1)
	assert.LessOrEqual(t, len(w.texts), maxMessages+maxGroups+1)
}
