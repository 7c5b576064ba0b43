package manifest_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/manifest"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/jobs/schedule"
)

// TestEnumerations: the values in the tags of fields, which are constant, are those of the lists.
func TestEnumerations(t *testing.T) {
	var intervals []string
	for _, i := range schedule.Intervals() {
		intervals = append(intervals, string(i))
	}
	for _, e := range []struct {
		of     reflect.Type
		field  string
		before string
		values []string
	}{
		{reflect.TypeFor[model.Limit](), "Scope", "required,", model.LimitScopes()},
		{reflect.TypeFor[manifest.Schedule](), "Overlap", "", model.OverlapNames()},
		{reflect.TypeFor[manifest.Interval](), "Interval", "default=Once,", intervals},
	} {
		f, ok := e.of.FieldByName(e.field)
		require.True(t, ok)
		require.Equal(t, e.before+"enum="+strings.Join(e.values, "|"), f.Tag.Get("rule"), e.field)
	}
}
