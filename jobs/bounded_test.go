package jobs_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/bounded"
	"github.com/jobagent/jobagent/testenv/bounds"
)

func TestBoundedRead(t *testing.T) {
	t.Parallel()
	text, err := bounded.Read(strings.NewReader("abc"), 3)
	require.NoError(t, err)
	require.Equal(t, "abc", string(text))
	_, err = bounded.Read(strings.NewReader("abcd"), 3)
	require.EqualError(t, err, "it is too long: at most 3 bytes are read")
	_, err = bounded.Read(strings.NewReader(strings.Repeat("a", 1<<20+1)), 1<<20)
	require.EqualError(t, err, "it is too long: at most 1 MB are read")
	broken := errors.New("broken")
	_, err = bounded.Read(failing{broken}, 3)
	require.ErrorIs(t, err, broken)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func TestBoundedJSON(t *testing.T) {
	t.Parallel()
	limits := bounded.JSON{Bytes: 40, Depth: 2, Values: 4}
	for text, want := range map[string]string{
		``:                           "",
		`[[1,2]]`:                    "",
		`{"a":[1]}`:                  "",
		`"[[[[[[\"[[[[["`:            "",
		`{"a{[":[1]}`:                "",
		`[[[1]]]`:                    "values are nested too deep: at most 2 levels",
		`[1,2,3,4]`:                  "there are too many values: at most 4",
		`["","",true,null]`:          "there are too many values: at most 4",
		`{"a":1,"b":2}`:              "there are too many values: at most 4",
		`1 2 3 4 5`:                  "there are too many values: at most 4",
		strings.Repeat(" ", 41):      "it is too long: at most 40 bytes are read",
		`"` + strings.Repeat(`\`, 9): "",
	} {
		err := limits.Check(text)
		if want == "" {
			require.NoError(t, err, text)
		} else {
			require.EqualError(t, err, want, text)
		}
		require.Equal(t, err, limits.CheckBytes([]byte(text)), text)
	}
	var at *bounded.Error
	require.ErrorAs(t, limits.Check(`[[1],[[`), &at)
	require.Equal(t, 6, at.Offset)
	require.NoError(t, bounded.JSON{}.Check(strings.Repeat("[", 1000)), "no limits")
}

// What a check allows, encoding/json reads within the bounds.
func TestHostileJSON(t *testing.T) { //nolint:paralleltest // it measures
	parse := func(text string) error {
		if err := bounded.File.Check(text); err != nil {
			return err
		}
		var v any
		return json.Unmarshal([]byte(text), &v)
	}
	bounds.Check(t, bounds.JSON(bounded.MaxFile, parse))
	bounds.Check(t, bounds.JSON(2*bounded.File.Values-2, parse)) // as many values as are allowed
}

// The check counts at least the values and the levels that the parser finds.
func FuzzBoundedJSON(f *testing.F) {
	for _, seed := range []string{`{"a":[1,"x",{"b":null}],"c":-1e5}`, `"\"[["`, `[[],[[]]]`, " 1 ", `{"a":1}x`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		var v any
		if json.Unmarshal([]byte(text), &v) != nil || strings.Contains(text, "\\") || strings.Count(text, `"`) > 100 {
			return
		}
		values, depth := size(v)
		if values > 1 {
			require.Error(t, bounded.JSON{Values: values - 1}.Check(text))
		}
		if depth > 1 {
			require.Error(t, bounded.JSON{Depth: depth - 1}.Check(text))
		}
		bounds.Allocations(t, len(text), 4<<10, 0, func() { _ = bounded.File.Check(text) })
	})
}

// size returns the number of values and keys, and of levels.
func size(v any) (values, depth int) {
	switch v := v.(type) {
	case []any:
		for _, one := range v {
			n, d := size(one)
			values, depth = values+n, max(depth, d)
		}
		return values + 1, depth + 1
	case map[string]any:
		for _, one := range v {
			n, d := size(one)
			values, depth = values+n+1, max(depth, d)
		}
		return values + 1, depth + 1
	}
	return 1, 0
}
