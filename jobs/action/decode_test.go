package action

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "write the messages in testdata/faults.json")

const faultsFile = "testdata/faults.json"

// vector is one definition with its faults. TSQL marks faults that jobs_internal.check_action
// reports too. <<a*9>> in the text stands for nine a.
type vector struct {
	Name   string        `json:"name"`
	Type   Type          `json:"type"`
	Text   string        `json:"text"`
	Faults []vectorFault `json:"faults"`
}

type vectorFault struct {
	Path    string `json:"path"`
	Message string `json:"message"`
	TSQL    bool   `json:"tsql"`
}

var repeated = regexp.MustCompile(`<<(.)\*(\d+)>>`)

// text returns the definition with its repetitions written out.
func (v vector) text() string {
	return repeated.ReplaceAllStringFunc(v.Text, func(m string) string {
		parts := repeated.FindStringSubmatch(m)
		n, _ := strconv.Atoi(parts[2])
		return strings.Repeat(parts[1], n)
	})
}

func readVectors(t testing.TB) []vector {
	t.Helper()
	text, err := os.ReadFile(faultsFile)
	require.NoError(t, err)
	var all []vector
	require.NoError(t, json.Unmarshal(text, &all))
	require.NotEmpty(t, all)
	return all
}

// TestCase126 compares all faults of each vector, and that a definition without faults is read
// again from its canonical form.
func TestCase126(t *testing.T) {
	all := readVectors(t)
	if *update {
		for i, v := range all {
			_, err := Decode(v.Type, v.text())
			var faults *Faults
			if errors.As(err, &faults) {
				for k := range v.Faults {
					if at := slices.IndexFunc(faults.List, func(f Fault) bool { return f.Path == v.Faults[k].Path }); at >= 0 {
						all[i].Faults[k].Message = faults.List[at].Message
					}
				}
			}
		}
		var b bytes.Buffer
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		e.SetIndent("", " ")
		require.NoError(t, e.Encode(all))
		require.NoError(t, os.WriteFile(faultsFile, b.Bytes(), 0o644))
	}
	for _, v := range all {
		t.Run(v.Name, func(t *testing.T) {
			want := make([]Fault, len(v.Faults))
			for i, f := range v.Faults {
				want[i] = Fault{Path: f.Path, Message: f.Message}
			}
			d, err := Decode(v.Type, v.text())
			if len(want) == 0 {
				require.NoError(t, err)
				again, err := Decode(v.Type, d.Encode())
				require.NoError(t, err, d.Encode())
				if d.HTTP != nil {
					again.HTTP.headersObject = d.HTTP.headersObject // one form is canonical
				}
				assert.Equal(t, d, again)
				assert.Equal(t, d.Encode(), again.Encode())
				return
			}
			var faults *Faults
			require.ErrorAs(t, err, &faults)
			assert.ElementsMatch(t, want, faults.List)
			assert.Nil(t, d)
		})
	}
}

func TestInfer(t *testing.T) {
	for text, want := range map[string]Type{
		`{"url": "https://example.com/"}`:                                TypeHTTP,
		`{"account": "a", "queue": "q", "message": "m"}`:                 TypeStorageQueue,
		`{"namespace": "n", "queue": "q", "message": "m"}`:               TypeServiceBusQueue,
		`{"namespace": "n", "topic": "t", "message": "m"}`:               TypeServiceBusTopic,
		`{"entry": "e", "callback": true}`:                               TypeProcess,
		`{"against": "majority"}`:                                        TypeDrift,
		`{"ulr": "https://example.com/", "method": "GET", "queue": "q"}`: "",
	} {
		got, err := Infer(text)
		assert.Equal(t, want, got, text)
		if want == "" {
			require.ErrorIs(t, err, ErrNoType)
		} else {
			require.NoError(t, err)
		}
	}
	_, err := Infer("[1]")
	require.EqualError(t, err, "invalid value: want an object, not an array")
}
