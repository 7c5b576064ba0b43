package importer

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/schedule"
)

// The documented schedules of both systems are imported as jobs before they are due. Each imported
// schedule must have the due instants of the specification's vectors.
func TestDocumentedSchedulesMoveUnchanged(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("..", "schedule", "testdata", "vectors.json"))
	require.NoError(t, err)
	var vectors []struct {
		ID, Kind, Spec, Start, After string
		Due                          []string
		Exhausted                    bool
	}
	require.NoError(t, json.Unmarshal(text, &vectors))
	moved := map[string]int{}
	for _, v := range vectors {
		spec := map[string]any{}
		if v.Spec != "(no recurrence)" {
			require.NoError(t, json.Unmarshal([]byte(v.Spec), &spec), v.ID)
		}
		if spec["outage"] != nil || spec["activatedAt"] != nil {
			continue // these elements belong to the vectors, not to a job
		}
		// The import takes place at After, when the schedule was made, or otherwise an hour before
		// the start.
		at := parseTime(v.After)
		if v.After == "" {
			at = parseTime(v.Start).Add(-time.Hour)
		}
		var job map[string]any
		read := AzureScheduler
		switch v.Kind {
		case "azure-scheduler":
			properties := map[string]any{"startTime": v.Start, "state": "Enabled", "action": map[string]any{"type": "Http"}}
			if len(spec) > 0 {
				properties["recurrence"] = spec
			}
			job = map[string]any{"name": v.ID, "properties": properties}
		case "sap":
			read = SAP
			if v.Start != "" && spec["startTime"] == nil {
				spec["startTime"] = v.Start
			}
			spec["active"] = true
			job = map[string]any{"name": v.ID, "action": "https://h/", "active": true, "createdAt": at.Format(time.RFC3339), "schedules": []any{spec}}
		default:
			continue
		}
		body, err := json.Marshal(job)
		require.NoError(t, err)
		r, err := read(body, Options{Now: at})
		require.NoError(t, err, v.ID)
		require.Len(t, r.Jobs[0].Schedules, 1, v.ID)
		s := r.Jobs[0].Schedules[0]
		require.True(t, s.Enabled && !s.faulty && !s.finished, "%s: %+v", v.ID, s)
		require.EqualValues(t, v.Kind, s.Kind)
		p, err := schedule.PreviewSpec(s.Kind, []byte(s.Spec), schedule.PreviewOptions{After: v.After, Zone: s.Zone})
		require.NoError(t, err, v.ID)
		due := make([]string, 0, len(p.Due))
		for _, d := range p.Due {
			due = append(due, d.Format(time.RFC3339))
		}
		if spec["time"] == "now" { // the preview lists only instants after its own time
			due = append([]string{v.Due[0]}, due...)
		}
		require.Equal(t, v.Due, due, "%s: %s", v.ID, s.Spec)
		require.Equal(t, v.Exhausted, p.Exhausted, v.ID)
		moved[v.Kind]++
	}
	require.Equal(t, map[string]int{"azure-scheduler": 22, "sap": 25}, moved)
}
