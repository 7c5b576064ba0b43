package elastic_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/holds"
	"github.com/jobagent/jobagent/controldb/timetable"
	"github.com/jobagent/jobagent/targets"
	"github.com/jobagent/jobagent/testenv/front"
)

// Databases are paused and go on over REST.
func TestTargetPauses(t *testing.T) {
	f := front.Shared(t)
	id := targets.TargetID("moved.example", "Müller").String()
	body := props("serverName", "moved.example", "databaseName", "Müller", "reason", "moves", "endTime", "2999-01-01T00:00:00Z")
	one := ok(t, f, 200, "POST", at("targetPauses"), body)
	require.Equal(t, id, one.At(t, "name"))
	require.Equal(t, "moves", one.At(t, "properties.reason"))
	require.Equal(t, "2999-01-01T00:00:00Z", one.At(t, "properties.endTime"))
	again := ok(t, f, 200, "POST", at("targetPauses"), props("targetId", id, "serverName", "moved.example", "databaseName", "Müller"))
	require.NotContains(t, again.At(t, "properties"), "reason", "the pause has the new reason and end")
	require.NotContains(t, again.At(t, "properties"), "endTime")
	require.Equal(t, "Müller", ok(t, f, 200, "GET", at("targetPauses", id), nil).At(t, "properties.databaseName"))
	require.Equal(t, id, ok(t, f, 200, "GET", at("targetPauses")+"&$top=1", nil).At(t, "value.0.name"))
	require.Equal(t, 403, f.DoAs(t, rest.RoleReader, "POST", at("targetPauses"), body).Status)
	require.Equal(t, 403, f.DoAs(t, rest.RoleReader, "DELETE", at("targetPauses", id), nil).Status)
	ok(t, f, 200, "DELETE", at("targetPauses", id), nil)
	ok(t, f, 204, "DELETE", at("targetPauses", id), nil)
	ok(t, f, 204, "DELETE", at("targetPauses", "x"), nil)
	refused(t, f, 404, "ResourceNotFound", "", "GET", at("targetPauses", id), nil)
	for _, wrong := range []obj{
		{}, props(), props("serverName", "s"), props("targetId", "x"), props("serverName", "s", "databaseName", "d", "until", "x"),
		props("serverName", "s", "databaseName", "d", "endTime", "tomorrow"),
	} {
		refused(t, f, 400, "InvalidResourceRequestBody", "", "POST", at("targetPauses"), wrong)
	}
	refused(t, f, 400, "ElasticJobsOperationFailed", "50460", "POST", at("targetPauses"), props("serverName", "s", "databaseName", "d", "endTime", "2001-01-01T00:00:00Z"))
}

// Windows of databases are made, changed and deleted over REST.
func TestTargetWindows(t *testing.T) {
	f := front.Shared(t)
	require.NoError(t, timetable.On(f.Store).AddCalendar(t.Context(), "rest nights", `{"weekly": [{"day": "monday", "from": "22:00", "to": "05:00"}]}`))
	for i := range 3 {
		name := fmt.Sprintf("w%d", i)
		one := ok(t, f, 200, "PUT", at("targetWindows", name), props("calendarName", "rest nights", "tagFilter", "tier = 'gold'", "timeZone", "Europe/Berlin", "timeZoneTag", "zone"))
		require.Equal(t, "Europe/Berlin", one.At(t, "properties.timeZone"))
	}
	of := ok(t, f, 200, "PUT", at("targetWindows", "w1"), props("blackouts", "rest nights", "serverName", "moved.example", "databaseName", "Müller"))
	require.NotContains(t, of.At(t, "properties"), "tagFilter", "the window is replaced")
	stored, err := holds.On(f.Store).Window(t.Context(), "w1")
	require.NoError(t, err)
	require.Equal(t, targets.TargetID("moved.example", "Müller"), stored.Target)
	list := ok(t, f, 200, "GET", at("targetWindows")+"&$top=2", nil)
	require.Equal(t, "w1", list.At(t, "value.1.name"))
	require.Len(t, list.At(t, "value"), 2)
	require.Equal(t, "rest nights", ok(t, f, 200, "GET", at("targetWindows", "W1"), nil).At(t, "properties.blackouts"))

	require.Equal(t, 403, f.DoAs(t, rest.RoleOperator, "PUT", at("targetWindows", "w1"), props("calendarName", "rest nights", "tagFilter", "a = 'b'")).Status)
	require.Equal(t, 403, f.DoAs(t, rest.RoleOperator, "DELETE", at("targetWindows", "w1"), nil).Status)
	refused(t, f, 400, "ElasticJobsOperationFailed", "50452", "PUT", at("targetWindows", "w1"), props("calendarName", "rest nights", "tagFilter", "tier gold"))
	refused(t, f, 400, "ElasticJobsOperationFailed", "50461", "PUT", at("targetWindows", "w1"), props("tagFilter", "a = 'b'"))
	refused(t, f, 400, "InvalidResourceRequestBody", "", "PUT", at("targetWindows", "w1"), obj{"name": "w2", "properties": obj{}})
	for i := range 3 {
		ok(t, f, 200, "DELETE", at("targetWindows", fmt.Sprintf("w%d", i)), nil)
		ok(t, f, 204, "DELETE", at("targetWindows", fmt.Sprintf("w%d", i)), nil)
	}
	refused(t, f, 404, "ResourceNotFound", "", "GET", at("targetWindows", "w1"), nil)
	_, err = holds.On(f.Store).Window(t.Context(), "w1")
	require.ErrorIs(t, err, dberror.ErrTargetWindowNotFound)
	require.NoError(t, timetable.On(f.Store).DeleteCalendar(t.Context(), "rest nights"))
}
