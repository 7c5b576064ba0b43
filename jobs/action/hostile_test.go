package action

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv/bounds"
)

// Definitions at the limits take a bounded time and memory.
func TestHostileDefinitions(t *testing.T) { //nolint:paralleltest // it measures
	decode := func(kind Type) func(string) error {
		return func(text string) error {
			d, err := Decode(kind, text)
			if err == nil {
				_ = d.Encode()
			}
			return err
		}
	}
	http := func(members string) string { return `{"method":"POST","url":"https://h/",` + members + `}` }
	bounds.Check(t, bounds.JSON(maxText, decode(TypeHTTP)))
	bounds.Check(t, bounds.JSON(2*limits.Values-2, decode(TypeHTTP))) // as many values as are allowed
	bounds.Check(t, bounds.JSON(2*limits.Values-100, func(text string) error { return decode(TypeHTTP)(http(`"body":` + text)) }))
	bounds.Check(t, bounds.Cases(map[string]string{
		"headers":          http(`"headers":{` + named(bounds.Size(limits.Values/2-20), `"h%d":"1",`) + `"z":"1"}`),
		"repeated headers": http(`"headers":{` + bounds.Repeat(`"h":"1",`, limits.Values/2-20) + `"z":"1"}`),
		"invalid headers":  http(`"headers":{` + named(bounds.Size(limits.Values/2-20), `" %d":"1",`) + `"z":"1"}`),
		"unknown members":  http(named(bounds.Size(limits.Values/2-20), `"h%d":"1",`) + `"z":"1"`),
		"endpoints":        http(`"endpoints":[` + bounds.Repeat(`"x",`, limits.Values-20) + `"x"]`),
		"captured headers": http(`"capture_headers":[` + bounds.Repeat(`"",`, limits.Values-20) + `""]`),
		"statuses":         http(`"success":{"status":[` + bounds.Repeat(`1,`, limits.Values-20) + `1]}`),
		"templates":        http(`"body":"` + bounds.Repeat(`$(a)`, maxBody/4-1) + `"`),
		"open templates":   http(`"body":"` + bounds.Repeat(`$(`, maxText/2-100) + `"`),
	}, decode(TypeHTTP)))
	// Each mention is a copy of the value.
	expand := func(kind Type) func(string) error {
		return func(text string) error {
			d, err := Decode(kind, text)
			if err != nil {
				return err
			}
			_, err = d.Expand(func(string) (Value, bool, error) { return Text(strings.Repeat("<", 100_000)), true, nil })
			return err
		}
	}
	many := bounds.Repeat("$(param.a)", maxText/10-100)
	bounds.Check(t, bounds.Cases(map[string]string{
		"expanded text":     http(`"body":"` + many + `"`),
		"expanded JSON":     http(`"body":{"b":"` + many + `"}`),
		"expanded elements": http(`"body":{"b":[` + bounds.Repeat(`"$(json:param.a)",`, 250_000/3) + `1]}`),
		"expanded URL":      `{"method":"POST","url":"https://h/` + many + `"}`,
		"expanded query":    `{"method":"POST","url":"https://h/?a=` + many + `"}`,
		"expanded header":   http(`"headers":{"a":"` + many + `"}`),
		"expanded form":     http(`"headers":{"Content-Type":"application/x-www-form-urlencoded"},"body":"` + many + `"`),
		"expanded XML":      http(`"headers":{"Content-Type":"application/xml"},"body":"<a>` + many + `</a>"`),
	}, expand(TypeHTTP)))
	bounds.Check(t, bounds.Cases(map[string]string{
		"expanded arguments": `{"entry":"e","args":[` + strings.Repeat(`"`+bounds.Repeat("$(param.a)", 2000)+`",`, 200) + `""]}`,
	}, expand(TypeProcess)))
	bounds.Check(t, bounds.Cases(map[string]string{
		"expanded message": `{"namespace":"n.servicebus.windows.net","queue":"q","message":"` + many + `"}`,
	}, expand(TypeServiceBusQueue)))
	bounds.Check(t, bounds.Cases(map[string]string{
		"arguments": `{"entry":"e","args":[` + bounds.Repeat(`"",`, limits.Values-20) + `""]}`,
		"codes":     `{"entry":"e","success_codes":[` + bounds.Repeat(`-1,`, limits.Values-20) + `1]}`,
	}, decode(TypeProcess)))
	bounds.Check(t, bounds.Cases(map[string]string{
		"properties": `{"namespace":"n","queue":"q","message":"m","properties":{` + named(bounds.Size(limits.Values/2-20), `"h%d":"1",`) + `"z":"1"}}`,
	}, decode(TypeServiceBusQueue)))
}

// named returns n members of an object.
func named(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

// A definition with many faults lists the first ones.
func TestFaultsAreBounded(t *testing.T) {
	t.Parallel()
	_, err := Decode(TypeHTTP, `{"method":"GET","url":"https://h/",`+named(2*maxFaults, `"m%d":1,`)+`"z":1}`)
	var faults *Faults
	require.ErrorAs(t, err, &faults)
	require.Len(t, faults.List, maxFaults)
	_, err = Decode(TypeHTTP, `{"method":"POST","url":"https://h/","headers":{`+named(maxMembers, `"h%d":"1",`)+`"z":"1"}}`)
	require.EqualError(t, err, "invalid definition of an action: $.headers: invalid object: want at most 1000 members")
	_, err = Decode(TypeHTTP, `{"body":[`+strings.Repeat("1,", 250_000)+`1]}`)
	require.EqualError(t, err, "invalid definition of an action: $: invalid text: there are too many values: at most 250000")
}
