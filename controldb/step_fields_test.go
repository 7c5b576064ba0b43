package controldb_test

import (
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/jobs/model"
)

// changedSettings returns settings of which none has its default.
func changedSettings(t *testing.T) model.StepSettings {
	s := model.DefaultStep
	all := reflect.ValueOf(&s).Elem()
	for _, f := range reflect.VisibleFields(all.Type()) {
		if f.Anonymous {
			continue
		}
		switch v := all.FieldByIndex(f.Index); v.Kind() {
		case reflect.Bool:
			v.SetBool(!v.Bool())
		case reflect.Int:
			v.SetInt(v.Int() + 1)
		case reflect.Float64:
			v.SetFloat(1.5)
		default:
			values := []string{"5%"}
			if _, list, ok := strings.Cut(f.Tag.Get("rule"), "enum="); ok {
				values = strings.Split(list, "|")
			}
			i := slices.IndexFunc(values, func(value string) bool { return value != v.String() })
			require.GreaterOrEqual(t, i, 0, f.Name)
			v.SetString(values[i])
		}
	}
	for i := range model.StepFields {
		f := &model.StepFields[i]
		require.True(t, f.Value(&s) == nil || f.Differs(&s, &model.DefaultStep), "another value of %s", f.Name)
	}
	return s
}

// refusedSettings returns settings of which one each is out of the range that package model
// declares.
func refusedSettings(t *testing.T) map[string]model.StepSettings {
	list := map[string]model.StepSettings{}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[model.StepSettings]()) {
		for rule := range strings.SplitSeq(f.Tag.Get("rule"), ",") {
			s := model.DefaultStep
			v := reflect.ValueOf(&s).Elem().FieldByIndex(f.Index)
			name, value, _ := strings.Cut(rule, "=")
			switch {
			case name == "enum":
				v.SetString("Nothing")
			case name == "min" && v.Kind() == reflect.Float64:
				v.SetFloat(0.5)
			case name == "min" && v.Kind() == reflect.Int:
				n, err := strconv.ParseInt(value, 10, 32)
				require.NoError(t, err)
				v.SetInt(n - 1)
			default:
				continue
			}
			list[f.Tag.Get("db")] = s
		}
	}
	return list
}

// TestStepFields: a new step has the defaults of package model, jobs.sp_add_jobstep and
// jobs.sp_update_jobstep take each setting, and refuse one that is out of its range.
func TestStepFields(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		other := changedSettings(t)
		settings := func(name string) model.StepSettings {
			step, err := catalog.On(c.Store).JobStep(ctx, "j", nil, name)
			require.NoError(t, err)
			return step.StepSettings
		}
		c.job(t, "j", nil)
		for _, name := range []string{"plain", "added", "updated"} {
			spec := model.StepSpec{}
			if name == "added" {
				spec = model.StepChanges(other, model.DefaultStep)
			}
			spec.JobName, spec.StepName, spec.Command, spec.TargetGroup = "j", &name, new("SELECT 1;"), new("g")
			_, err := catalog.On(c.Store).AddJobStep(ctx, spec)
			require.NoError(t, err)
		}
		require.Equal(t, model.DefaultStep, settings("plain"))
		require.Equal(t, other, settings("added"))

		update := model.StepChanges(other, model.DefaultStep)
		update.JobName, update.StepName = "j", new("updated")
		_, err := catalog.On(c.Store).UpdateJobStep(ctx, update)
		require.NoError(t, err)
		require.Equal(t, other, settings("updated"))

		refused := refusedSettings(t)
		require.Greater(t, len(refused), 8)
		for field, bad := range refused {
			update := model.StepChanges(bad, model.DefaultStep)
			update.JobName, update.StepName = "j", new("updated")
			_, err := catalog.On(c.Store).UpdateJobStep(ctx, update)
			require.Equal(t, dberror.KindInvalid, dberror.KindOf(err), field)
			require.ErrorContains(t, err, "want ", field)
		}

		none, err := catalog.On(c.Store).UpdateJobStep(ctx, model.StepSpec{JobName: "j", StepName: new("updated")})
		require.NoError(t, err)
		job, err := catalog.On(c.Store).Jobs(ctx, "j")
		require.NoError(t, err)
		require.Equal(t, job[0].Version, none, "an update without a field makes no version")
		require.Equal(t, other, settings("updated"))
	})
}
