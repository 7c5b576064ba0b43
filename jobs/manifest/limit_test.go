package manifest_test

import (
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/jobs/model"
)

func TestScopesOfLimitsAreThoseOfTheRule(t *testing.T) {
	scope, ok := reflect.TypeFor[model.Limit]().FieldByName("Scope")
	require.True(t, ok)
	require.Equal(t, "required,enum="+strings.Join(model.LimitScopes(), "|"), scope.Tag.Get("rule"))
}
