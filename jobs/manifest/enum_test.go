package manifest_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/manifest"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/jobs/schedule"
)

// TestEnumerations: the values in the tags of fields, which are constant, are those of the lists,
// and so are lengths.
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
	for _, of := range []reflect.Type{reflect.TypeFor[manifest.Job](), reflect.TypeFor[manifest.Parameter](), reflect.TypeFor[manifest.Alert]()} {
		name, _ := of.FieldByName("Name")
		require.Equal(t, fmt.Sprintf("required,max=%d", model.MaxName), name.Tag.Get("rule"))
		description, _ := of.FieldByName("Description")
		require.Equal(t, fmt.Sprintf("max=%d", model.MaxDescription), description.Tag.Get("rule"))
	}
}
