package body_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest/internal/body"
	"github.com/jobagent/jobagent/testenv/bounds"
)

// A caller's body at the limit of the front takes a bounded time and memory, whatever it is read
// into.
func TestHostileBodies(t *testing.T) { //nolint:paralleltest // it measures
	const limit = 4 << 20 // of the front (agent/rest)
	into := func(dst func() any, opts body.Options) func(string) error {
		return func(text string) error { return body.Decode([]byte(text), dst(), opts) }
	}
	known := into(func() any { return new(step) }, body.Options{})
	anything := into(func() any { return new(any) }, body.Options{})
	folded := into(func() any { return new(map[string]any) }, body.Options{FoldCase: true})
	bounds.Check(t, bounds.JSON(limit, known))
	bounds.Check(t, bounds.JSON(limit, anything))
	bounds.Check(t, bounds.JSON(limit, folded))
	bounds.Check(t, bounds.Cases(map[string]string{
		"members":               `{"members":[` + bounds.Repeat(`{"type":"x"},`, limit/14) + `{}]}`,
		"members that are none": `{"members":[` + bounds.Repeat(`1,`, limit/2-10) + `1]}`,
		"unknown in members":    `{"members":[` + bounds.Repeat(`{"x":1},`, limit/9) + `{}]}`,
		"tags of a long name":   `{"tags":{"` + bounds.Repeat("x", limit/2) + `":[` + bounds.Repeat("1,", limit/4-100) + `1]}}`,
		"values of a long name": `{"any":{"` + bounds.Repeat("x", limit/2) + `":[` + bounds.Repeat("1,", limit/4-100) + `1]}}`,
	}, known))
}

// The values of a body are counted before they are kept.
func TestTooManyValues(t *testing.T) {
	t.Parallel()
	const most = 100_000
	var v any
	require.NoError(t, body.Decode([]byte("["+strings.Repeat("1,", most-2)+"1]"), &v, body.Options{}))
	require.ErrorContains(t, body.Decode([]byte("["+strings.Repeat("1,", most-1)+"1]"), &v, body.Options{}), "Too many values: at most 100000")
}
