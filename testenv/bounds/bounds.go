// Package bounds measures what a parser costs for hostile texts: time, and memory at its peak. Only
// tests import it.
//
// By default, the texts are a thirtieth as long as the limits of the parsers allow ([Size]), so
// that the tests take seconds. With -hostile.full, they are as long as the limits.
package bounds

import (
	"flag"
	"fmt"
	"math"
	"runtime"
	"runtime/metrics"
	"strings"
	"testing"
	"time"
)

// The most that a parser may take for one text. Tests with the race detector take several times as
// long.
const (
	MaxTime   = time.Second // of a processor
	MaxMemory = 200 << 20   // bytes, beyond what was there before
)

var full = flag.Bool("hostile.full", false, "measure hostile texts that are as long as the limits of the parsers, and not a thirtieth of that")

// Size returns a length, or a number of parts, of a hostile text: n with -hostile.full, or else a
// thirtieth of n.
func Size(n int) int {
	if *full {
		return n
	}
	return n / 30
}

// Repeat is strings.Repeat with [Size].
func Repeat(part string, n int) string { return strings.Repeat(part, Size(n)) }

// fails returns the time at which a text fails the test. A busy machine takes more than MaxTime,
// and so does the race detector, with which the long texts are not measured.
func fails() time.Duration {
	if *full {
		return 3 * MaxTime
	}
	return 10 * MaxTime
}

// tries is how often a text is parsed. The fastest try counts, since other programs take the
// processor, too.
const tries = 2

// Case is a hostile text for a parser.
type Case struct {
	// Name says what is hostile in the text.
	Name string
	// Text is the text, best as long as the parser's limit with -hostile.full.
	Text string
	// Parse parses the text. An error is no failure: most texts are refused.
	Parse func(text string) error
}

// Check parses each text, fails the test if one takes too much time or memory, and logs a table.
// The test must not run beside others.
func Check(t *testing.T, cases []Case) {
	t.Helper()
	t.Log("| parser | text | bytes | time | peak memory | answer |")
	for _, c := range cases {
		fastest, peak, err := time.Duration(0), uint64(0), error(nil)
		for i := range tries {
			watch := time.AfterFunc(6*fails(), func() { panic(fmt.Sprintf("%s: this text takes more than %s", c.Name, 6*fails())) })
			spent, most, e := measure(func() error { return c.Parse(c.Text) })
			watch.Stop()
			if i == 0 || spent < fastest {
				fastest = spent
			}
			if i == 0 || most < peak { // garbage that is not collected yet counts
				peak = most
			}
			err = e
			if fastest < MaxTime && peak < MaxMemory {
				break
			}
		}
		answer := "accepted"
		if err != nil {
			answer = strings.Map(func(r rune) rune {
				if r < ' ' || r == '|' {
					return ' '
				}
				return r
			}, fmt.Sprintf("%.100s", err.Error()))
		}
		t.Logf("| %s | %s | %d | %.3f s | %d MB | %s |", t.Name(), c.Name, len(c.Text), fastest.Seconds(), peak>>20, answer)
		if fastest > fails() {
			t.Errorf("%s: %s: want at most %s, and %s on a busy machine", c.Name, fastest, MaxTime, fails())
		}
		if peak > MaxMemory {
			t.Errorf("%s: %d MB: want at most %d MB", c.Name, peak>>20, MaxMemory>>20)
		}
	}
}

// measure returns the processor time that a function takes, and by how much the heap grows while
// it runs.
func measure(f func() error) (spent time.Duration, peak uint64, err error) {
	runtime.GC()
	before := heap()
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		tick := time.NewTicker(time.Millisecond)
		defer tick.Stop()
		for {
			peak = max(peak, heap())
			select {
			case <-tick.C:
			case <-stop:
				return
			}
		}
	}()
	begun := processorTime()
	err = f()
	spent = processorTime() - begun
	close(stop)
	<-stopped
	return spent, max(peak, heap(), before) - before, err
}

// heap returns the bytes of all objects on the heap, collected or not.
func heap() uint64 { return read("/memory/classes/heap/objects:bytes") }

func read(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// Allocations fails a test, mostly a fuzz target, if a function allocates more than a fixed amount
// and so many bytes for each byte of its input. It calls the function again before it fails: the
// first call may fill tables of the process, and a leftover of another test may allocate beside it.
func Allocations(t *testing.T, input, fixed, perByte int, f func()) {
	t.Helper()
	const allocated = "/gc/heap/allocs:bytes"
	most, spent := uint64(fixed)+uint64(perByte)*uint64(input), uint64(math.MaxUint64)
	for call := 0; call < 3 && spent > most; call++ {
		before := read(allocated)
		f()
		spent = min(spent, read(allocated)-before)
	}
	if spent > most {
		t.Errorf("%d bytes are allocated for an input of %d bytes: want at most %d", spent, input, most)
	}
}
