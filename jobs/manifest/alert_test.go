package manifest

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/model"
)

// The conditions of rules in files are those of the control database.
func TestAlertConditions(t *testing.T) {
	var names []string
	for _, c := range model.AlertConditions() {
		names = append(names, string(c))
	}
	field, ok := reflect.TypeFor[Alert]().FieldByName("Condition")
	require.True(t, ok)
	require.Equal(t, "required,enum="+strings.Join(names, "|"), field.Tag.Get("rule"))
}
