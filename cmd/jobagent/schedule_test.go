package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Every vector of part e of the specification of schedules passes through the command.
func TestSchedulePreviewVectors(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "..", "jobs", "schedule", "testdata", "vectors.json"))
	require.NoError(t, err)
	var vectors []struct {
		ID, Kind, Spec, Zone, Start, After string
		Due                                []string
		Exhausted                          bool
	}
	require.NoError(t, json.Unmarshal(text, &vectors))
	require.NotEmpty(t, vectors)
	for _, v := range vectors {
		t.Run(v.ID, func(t *testing.T) {
			t.Parallel()
			args := []string{"schedule", "preview", "--kind", v.Kind, "--spec", "-", "-o", "json"}
			for flag, value := range map[string]string{"--start": v.Start, "--after": v.After, "--zone": v.Zone} {
				if value != "" {
					args = append(args, flag, value)
				}
			}
			var stdout, stderr bytes.Buffer
			code := run(t.Context(), args, strings.NewReader(v.Spec), &stdout, &stderr)
			require.Equal(t, exitOK, code, stdout.String()+stderr.String())
			var got struct {
				Due       []string `json:"due"`
				Exhausted bool     `json:"exhausted"`
			}
			require.NoError(t, json.Unmarshal(stdout.Bytes(), &got))
			require.Equal(t, v.Due, got.Due)
			require.Equal(t, v.Exhausted, got.Exhausted)
		})
	}
}

func TestSchedulePreviewListsEveryFault(t *testing.T) {
	t.Parallel()
	var stdout, stderr bytes.Buffer
	code := run(t.Context(), []string{"schedule", "preview", "--kind", "azure-scheduler", "--spec", "-", "-o", "json"},
		strings.NewReader(`{"frequency": "Dya", "interval": 0, "count": 0}`), &stdout, &stderr)
	require.Equal(t, exitUsage, code)
	var got struct {
		Errors []struct {
			Path    string
			Value   any
			Message string
		}
	}
	require.NoError(t, json.Unmarshal(stdout.Bytes(), &got))
	require.Len(t, got.Errors, 3)
	require.Contains(t, got.Errors[0].Message, "Day")
	require.Empty(t, stderr.String())
}
