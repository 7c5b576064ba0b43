package controldb_test

import (
	"crypto/rand"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/controldb"
	"github.com/jobagent/jobagent/controldb/access"
	"github.com/jobagent/jobagent/controldb/catalog"
	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/secrets"
	"github.com/jobagent/jobagent/controldb/targetgroups"
	"github.com/jobagent/jobagent/jobs/model"
	"github.com/jobagent/jobagent/jobs/secret"
	"github.com/jobagent/jobagent/targets"
)

// state is whether a call has created an object, and its revision.
type state struct {
	created  bool
	revision int64
}

// TestSetJob: a job is created, replaced with defaults for what is omitted, and left alone if
// nothing changes.
func TestSetJob(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		spec := model.JobSpec{Name: "j", Description: ptr("d"), Enabled: ptr(true), IntervalType: ptr("minutes"), IntervalCount: ptr(15)}
		put, err := catalog.On(c.Store).SetJob(ctx, spec, nil)
		require.NoError(t, err)
		require.Equal(t, state{true, 1}, state{put.Created, put.Object.Revision})
		due := c.rows(t, `SELECT next_due_at, revision FROM jobs_internal.schedules`)
		spec.Name = "J"
		put, err = catalog.On(c.Store).SetJob(ctx, spec, nil)
		require.NoError(t, err)
		require.Equal(t, state{false, 1}, state{put.Created, put.Object.Revision}, "nothing changes")
		require.Equal(t, due, c.rows(t, `SELECT next_due_at, revision FROM jobs_internal.schedules`), "the schedule does not begin anew")

		put, err = catalog.On(c.Store).SetJob(ctx, model.JobSpec{Name: "j"}, nil)
		require.NoError(t, err)
		require.False(t, put.Created)
		require.Greater(t, put.Object.Revision, int64(1))
		require.Equal(t, []string{"j||false|Once|1"},
			c.rows(t, `SELECT job_name, description, enabled, schedule_interval_type, schedule_interval_count FROM jobs.jobs`))

		for _, match := range []int64{0, 1} {
			_, err = catalog.On(c.Store).SetJob(ctx, spec, ptr(match))
			require.ErrorIs(t, err, dberror.ErrRevision)
		}
		_, err = catalog.On(c.Store).SetJob(ctx, spec, ptr(put.Object.Revision))
		require.NoError(t, err)
		_, err = catalog.On(c.Store).SetJob(ctx, spec, ptr(int64(-1)))
		require.NoError(t, err)
		_, err = catalog.On(c.Store).SetJob(ctx, model.JobSpec{Name: "new"}, ptr(int64(-1)))
		require.ErrorIs(t, err, dberror.ErrRevision)
		_, err = catalog.On(c.Store).SetJob(ctx, model.JobSpec{Name: "new"}, ptr(int64(0)))
		require.NoError(t, err)
		for _, name := range []string{"", "a%b", "jobagent$x"} {
			_, err = catalog.On(c.Store).SetJob(ctx, model.JobSpec{Name: name}, nil)
			require.Equal(t, dberror.KindInvalid, dberror.KindOf(err), name)
		}
	})
}

// TestSetJobStep: what REST cannot say stays as it is (case 50).
func TestSetJobStep(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		c.exec(t, `EXEC jobs.sp_add_target_group N'g'; EXEC jobs.sp_add_job N'j'`)
		spec := model.StepSpec{JobName: "j", StepName: ptr("s"), Command: new("SELECT 1"), TargetGroup: new("g"), RetryAttempts: ptr(3),
			Credential: ptr("c"), Output: &model.OutputSpec{
				Type: ptr("SqlDatabase"), Server: ptr("srv"), Database: ptr("db"), Table: ptr("t"), Credential: ptr("oc"),
				ResourceGroup: ptr("rg"),
			}}
		put, err := catalog.On(c.Store).SetJobStep(ctx, spec, nil)
		require.NoError(t, err)
		require.True(t, put.Created)
		require.Equal(t, 1, put.Object.JobVersion)
		again, err := catalog.On(c.Store).SetJobStep(ctx, spec, nil)
		require.NoError(t, err)
		require.Equal(t, controldb.Put[catalog.JobStep]{Object: put.Object}, again)
		c.exec(t, `EXEC jobs.sp_update_jobstep @job_name = N'j', @max_parallelism = 3; EXEC jobs.sp_set_jobstep_options @job_name = N'j', @at_most_once = 1, @run_when = N'Finished', @after = N''`)
		_, err = catalog.On(c.Store).SetJobStep(ctx, model.StepSpec{JobName: "j", StepName: ptr("S"), Command: new("SELECT 2"), TargetGroup: new("g")}, &put.Object.Revision)
		require.ErrorIs(t, err, dberror.ErrRevision)
		again, err = catalog.On(c.Store).SetJobStep(ctx, model.StepSpec{JobName: "j", StepName: ptr("S"), Command: new("SELECT 2"), TargetGroup: new("g")}, nil)
		require.NoError(t, err)
		require.Equal(t, 4, again.Object.JobVersion)
		require.Equal(t, []string{"s|SELECT 2|10|NULL|NULL|NULL|NULL|3|true|Finished|[]"}, c.rows(t, `SELECT s.step_name, s.command, s.retry_attempts, s.credential_name, s.output_type,
s.output_server_name, s.output_resource_group_name, s.max_parallelism, o.at_most_once, o.run_when, o.after
FROM jobs.jobsteps AS s INNER JOIN jobs.jobstep_options AS o ON o.job_id = s.job_id AND o.is_current = 1 AND o.step_id = s.step_id`))

		for id, ok := range map[int]bool{0: false, 1: true, 2: true, 3: false} {
			_, err = catalog.On(c.Store).SetJobStep(ctx, model.StepSpec{JobName: "j", StepName: ptr("x"), StepID: ptr(id), Command: new("SELECT 2"), TargetGroup: new("g")}, nil)
			require.Equal(t, ok, err == nil, id)
			if ok {
				_, err = catalog.On(c.Store).DeleteJobStep(ctx, "j", nil, ptr("x"))
				require.NoError(t, err)
			}
		}
		_, err = catalog.On(c.Store).SetJobStep(ctx, model.StepSpec{JobName: "j", StepName: ptr("s"), StepID: ptr(2), Command: new("SELECT 2"), TargetGroup: new("g")}, nil)
		require.Equal(t, int32(50011), dberror.NumberOf(err))
		_, err = catalog.On(c.Store).SetJobStep(ctx, model.StepSpec{JobName: "j", StepName: ptr("s"), Command: new("SELECT 2"), TargetGroup: new("nope")}, nil)
		require.ErrorIs(t, err, dberror.ErrGroupNotFound)
		_, err = catalog.On(c.Store).SetJobStep(ctx, model.StepSpec{JobName: "nope", StepName: ptr("s"), Command: new("SELECT 2"), TargetGroup: new("g")}, nil)
		require.ErrorIs(t, err, dberror.ErrJobNotFound)
	})
}

// TestSetTargetGroup: members that stay keep their id, in the order of the argument.
func TestSetTargetGroup(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		db := func(name string) targets.Member {
			return targets.Member{Kind: "SqlDatabase", Server: "s", Database: name}
		}
		set := func(want state, members ...targets.Member) []string {
			put, err := targetgroups.On(c.Store).Set(ctx, "g", members, nil)
			require.NoError(t, err)
			require.Equal(t, want, state{put.Created, put.Object.Revision})
			return c.rows(t, `SELECT COALESCE(database_name, target_type), target_id FROM jobs.target_group_member_details ORDER BY member_id`)
		}
		require.Empty(t, set(state{true, 1}))
		first := set(state{false, 2}, db("a"), db("b"))
		require.Equal(t, first, set(state{false, 2}, db("a"), db("b")))
		second := set(state{false, 3}, db("c"), db("b"), targets.Member{Kind: "SqlServer", Server: "s"}, db("a"))
		require.Equal(t, []string{first[1], first[0]}, []string{second[1], second[3]})
		require.Equal(t, []string{second[3], second[1]}, set(state{false, 4}, db("a"), db("b")))
		excluded := db("a")
		excluded.Membership = "exclude"
		require.NotEqual(t, first, set(state{false, 5}, excluded, db("b")))
		require.NotEqual(t, first[0], set(state{false, 6}, db("A"))[0], "a member whose spelling changes is another one")

		before := c.rows(t, `SELECT target_id FROM jobs.target_group_members`)
		for number, members := range map[int32]string{
			50078: `[{"target_type":"SqlServer","server_name":"s"},{"target_type":"sqlserver","server_name":" s ","membership_type":"INCLUDE"}]`,
			50079: `{"target_type":"SqlServer"}`,
			50022: `[{"target_type":"SqlServer","server_name":"s","membership_type":"x"}]`,
			50023: `[{"server_name":"s"}]`,
			50024: `[{"target_type":"SqlServer","server_name":"s"},{"target_type":"SqlDatabase","server_name":"s"}]`,
			50025: `[{"target_type":"SqlServer","server_name":"s","database_name":"d"}]`,
		} {
			c.fails(t, number, `EXEC jobs.sp_set_target_group @target_group_name = N'g', @members = @p1`, members)
		}
		for _, members := range []string{`[1]`, `[null]`, `x`, `[{}`, `["a"]`, `[[]]`} {
			c.fails(t, 50079, `EXEC jobs.sp_set_target_group @target_group_name = N'g', @members = @p1`, members)
		}
		require.Contains(t, c.fails(t, 50024, `EXEC jobs.sp_set_target_group @target_group_name = N'new', @members = @p1`,
			`[{"target_type":"SqlServer","server_name":"s"},{"target_type":"SqlDatabase","server_name":"s"}]`), "Member 2 of the target group 'new'")
		require.Equal(t, before, c.rows(t, `SELECT target_id FROM jobs.target_group_members`))
		_, err := targetgroups.On(c.Store).Set(ctx, "g", nil, ptr(int64(5)))
		require.ErrorIs(t, err, dberror.ErrRevision)
		_, err = targetgroups.On(c.Store).Set(ctx, "new", nil, ptr(int64(-1)))
		require.ErrorIs(t, err, dberror.ErrRevision)
	})
}

// TestCredentials: passwords are stored sealed, and only agents read them.
func TestCredentials(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		k := newSecretKey(t)
		seal := func(version int, value string) string {
			text, err := secrets.On(c.Store).Seal(ctx, secret.Place{Owner: secret.OwnerCredential, Name: "c1", Version: version}, value)
			require.NoError(t, err)
			return text
		}
		require.NoError(t, secrets.On(c.Store).AddKey(ctx, k.Public()))
		_, err := access.On(c.Store).SetCredential(ctx, "c1", "u", "", nil)
		require.Equal(t, int32(50081), dberror.NumberOf(err))
		put, err := access.On(c.Store).SetCredential(ctx, "c1", "u", seal(1, "p1"), nil)
		require.NoError(t, err)
		require.Equal(t, state{true, 1}, state{put.Created, put.Object.Revision})
		open := func() string {
			s, err := secrets.On(c.Store).Credential(ctx, "C1")
			require.NoError(t, err)
			require.Equal(t, "u", s.Username)
			value, err := s.Secret.Sealed.Open(s.Secret.Place, []secret.PrivateKey{k})
			require.NoError(t, err)
			return value
		}
		require.Equal(t, "p1", open())
		put, err = access.On(c.Store).SetCredential(ctx, "c1", "u", seal(2, "p2"), nil)
		require.NoError(t, err)
		require.Equal(t, state{false, 2}, state{put.Created, put.Object.Revision})
		require.Equal(t, "p2", open())
		put, err = access.On(c.Store).SetCredential(ctx, "c1", "u", "", nil)
		require.NoError(t, err)
		require.Equal(t, state{false, 2}, state{put.Created, put.Object.Revision}, "the password stays")
		_, err = access.On(c.Store).SetCredential(ctx, "c1", "U", "", nil)
		require.Equal(t, int32(50081), dberror.NumberOf(err))
		_, err = access.On(c.Store).SetCredential(ctx, "c1", "U", seal(2, "p2"), nil)
		require.ErrorIs(t, err, dberror.ErrSecretChanged)
		_, err = access.On(c.Store).SetCredential(ctx, "c1", "u", seal(3, "p"), ptr(int64(1)))
		require.ErrorIs(t, err, dberror.ErrRevision)

		list, err := access.On(c.Store).Credentials(ctx, controldb.Page[string]{Top: 10})
		require.NoError(t, err)
		require.Len(t, list, 1)
		require.Equal(t, [2]int64{2, 2}, [2]int64{int64(list[0].SecretVersion), list[0].Revision})
		one, err := access.On(c.Store).Credential(ctx, "C1")
		require.NoError(t, err)
		require.Equal(t, list[0], one)

		// A new key gets to it, like to any other secret.
		other, err := secret.GenerateKey(rand.Reader)
		require.NoError(t, err)
		require.NoError(t, secrets.On(c.Store).AddKey(ctx, other.Public()))
		s, err := secrets.On(c.Store).Credential(ctx, "c1")
		require.NoError(t, err)
		require.Len(t, s.Secret.Missing, 1)
		keys, err := s.Secret.Sealed.Reseal(s.Secret.Place, []secret.PrivateKey{k}, s.Secret.Missing)
		require.NoError(t, err)
		require.NoError(t, secrets.On(c.Store).Reseal(ctx, s.Secret.Place, keys))
		k = other
		require.Equal(t, "p2", open())

		c.exec(t, `EXEC jobs.sp_add_target_group N'g'; EXEC jobs.sp_add_job N'j';
EXEC jobs.sp_add_jobstep @job_name = N'j', @command = N'SELECT 1', @target_group_name = N'g', @credential_name = N'C1'`)
		require.ErrorContains(t, access.On(c.Store).DeleteCredential(ctx, "c1", nil), "step 1 'JobStep' of the job 'j'")
		c.exec(t, `EXEC jobs.sp_update_jobstep @job_name = N'j', @credential_name = N''; EXEC jobs.sp_add_target_group_member N'g', NULL, N'SqlServer', N'c1', N's'`)
		err = access.On(c.Store).DeleteCredential(ctx, "c1", nil)
		require.ErrorContains(t, err, "the target group 'g'")
		require.Equal(t, int32(50157), dberror.NumberOf(err))
		_, err = targetgroups.On(c.Store).Set(ctx, "g", nil, nil)
		require.NoError(t, err)
		require.ErrorIs(t, access.On(c.Store).DeleteCredential(ctx, "c1", ptr(int64(7))), dberror.ErrRevision)
		require.NoError(t, access.On(c.Store).DeleteCredential(ctx, "c1", ptr(int64(2))))
		require.ErrorIs(t, access.On(c.Store).DeleteCredential(ctx, "c1", nil), dberror.ErrCredentialNotFound)
		_, err = secrets.On(c.Store).Credential(ctx, "c1")
		require.ErrorIs(t, err, dberror.ErrCredentialNotFound)
		require.Empty(t, c.rows(t, `SELECT secret_name FROM jobs.secrets`))
	})
}

// TestPrivateEndpoints: they are stored and shown.
func TestPrivateEndpoints(t *testing.T) {
	each(t, func(t *testing.T, c *control) {
		ctx := t.Context()
		put, err := access.On(c.Store).SetPrivateEndpoint(ctx, "p", "/subscriptions/1", nil)
		require.NoError(t, err)
		require.Equal(t, state{true, 1}, state{put.Created, put.Object.Revision})
		one, err := access.On(c.Store).PrivateEndpoint(ctx, "P")
		require.NoError(t, err)
		require.Regexp(t, `^EJ_[0-9A-F-]{36}_p$`, one.EndpointID)
		put, err = access.On(c.Store).SetPrivateEndpoint(ctx, "p", "/subscriptions/1", nil)
		require.NoError(t, err)
		require.Equal(t, state{false, 1}, state{put.Created, put.Object.Revision})
		put, err = access.On(c.Store).SetPrivateEndpoint(ctx, "p", "/subscriptions/2", ptr(int64(1)))
		require.NoError(t, err)
		require.Equal(t, state{false, 2}, state{put.Created, put.Object.Revision})
		list, err := access.On(c.Store).PrivateEndpoints(ctx, controldb.Page[string]{Top: 10})
		require.NoError(t, err)
		require.Equal(t, one.EndpointID, list[0].EndpointID)
		_, err = access.On(c.Store).SetPrivateEndpoint(ctx, "", "x", nil)
		require.Equal(t, int32(50080), dberror.NumberOf(err))
		require.ErrorIs(t, access.On(c.Store).DeletePrivateEndpoint(ctx, "p", ptr(int64(1))), dberror.ErrRevision)
		require.NoError(t, access.On(c.Store).DeletePrivateEndpoint(ctx, "p", nil))
		require.ErrorIs(t, access.On(c.Store).DeletePrivateEndpoint(ctx, "p", nil), dberror.ErrEndpointNotFound)
		_, err = access.On(c.Store).PrivateEndpoint(ctx, "p")
		require.ErrorIs(t, err, dberror.ErrEndpointNotFound)
	})
}
