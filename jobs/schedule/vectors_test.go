package schedule

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

// vector is one row of vectors.json, or a further row in the same form.
type vector struct {
	ID, Kind, Spec, Start, After, Zone string
	Due, Started                       []string
	Exhausted                          bool
	Errors                             []struct{ Path, Value, Nearest string }
}

func readVectors(t testing.TB, file string) []vector {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	var vectors []vector
	require.NoError(t, json.Unmarshal(text, &vectors))
	require.NotEmpty(t, vectors)
	return vectors
}

// TestVectors compares the output of the command line, because the vectors describe that output.
func TestVectors(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"testdata/vectors.json", "testdata/further.json"} {
		for _, v := range readVectors(t, file) {
			t.Run(v.ID, func(t *testing.T) {
				t.Parallel()
				text, ok := PreviewJSON(Kind(v.Kind), []byte(v.Spec), PreviewOptions{Start: v.Start, After: v.After, Zone: v.Zone, Count: 5})
				require.True(t, ok, "%s", text)
				var got struct {
					Due, Started []string
					Exhausted    bool
				}
				require.NoError(t, json.Unmarshal(text, &got))
				if v.Due == nil {
					v.Due = []string{}
				}
				require.Equal(t, v.Due, got.Due)
				require.Equal(t, v.Exhausted, got.Exhausted)
				if v.Started != nil {
					require.Equal(t, v.Started, got.Started)
				}
			})
		}
	}
}

// TestFaults checks that all faults are reported at once, with path, value and the nearest valid
// spelling (D-E5).
func TestFaults(t *testing.T) {
	t.Parallel()
	for _, v := range readVectors(t, "testdata/faults.json") {
		t.Run(v.ID, func(t *testing.T) {
			t.Parallel()
			_, err := PreviewSpec(Kind(v.Kind), []byte(v.Spec), PreviewOptions{Start: v.Start, After: v.After, Zone: v.Zone})
			var all *Error
			require.ErrorAs(t, err, &all)
			for i, want := range v.Errors {
				require.Less(t, i, len(all.Faults), "%s", err)
				got := all.Faults[i]
				require.Equal(t, want.Path, got.Path, "%s", err)
				require.NotEmpty(t, got.Allowed)
				if want.Value != "" {
					require.Equal(t, want.Value, got.Value)
				}
				require.Equal(t, want.Nearest, got.Nearest, "%s", err)
			}
			require.Len(t, all.Faults, len(v.Errors), "%s", err)

			text, ok := PreviewJSON(Kind(v.Kind), []byte(v.Spec), PreviewOptions{Start: v.Start, After: v.After, Zone: v.Zone})
			require.False(t, ok)
			var shown struct {
				Errors []struct {
					Path, Message string
					Value         json.RawMessage
				}
			}
			require.NoError(t, json.Unmarshal(text, &shown))
			require.Len(t, shown.Errors, len(v.Errors))
			require.NotEmpty(t, shown.Errors[0].Message)
		})
	}
}
