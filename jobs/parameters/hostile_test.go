package parameters

import (
	"testing"

	"github.com/jobagent/jobagent/testenv/bounds"
)

// Parameters at the limit of the control database take a bounded time and memory.
func TestHostileParameters(t *testing.T) { //nolint:paralleltest // it measures
	const limit = 102_400 // characters (jobs_internal.check_parameters)
	parse := func(text string) error { _, err := Parse(text); return err }
	bounds.Check(t, bounds.JSON(limit, parse))
	bounds.Check(t, bounds.JSON(limit-10, func(text string) error { return parse(`{"a":` + text + "}") }))
}
