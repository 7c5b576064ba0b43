package controldb

import (
	"context"
	"time"

	"github.com/google/uuid"

	"github.com/jobagent/jobagent/controldb/dberror"
	"github.com/jobagent/jobagent/controldb/internal/call"
	"github.com/jobagent/jobagent/targets"
)

// JobDetail is a row of the view jobs.job_details.
type JobDetail struct {
	Job
	System      bool      `db:"is_system"`
	CreatedTime time.Time `db:"created_time"`
	Revision    int64     `db:"revision"`
	// Origin is System, Scheduler, SAP or Elastic: where the job is defined.
	Origin string `db:"origin"`
	// Parameters are the declared parameters, a JSON array; empty means none.
	Parameters string `db:"parameters"`
	// RolloutPlan is the plan by which its runs are rolled out, a JSON object; empty means none.
	RolloutPlan string `db:"rollout_plan"`
}

const jobDetailColumns = `SELECT job_name, job_id, job_version, description, enabled, schedule_interval_type, schedule_interval_count,
    schedule_start_time, schedule_end_time, is_system, created_time, revision, origin,
    COALESCE(parameters, N'') AS parameters, COALESCE(rollout_plan, N'') AS rollout_plan
FROM jobs.job_details`

const jobDetailQuery = jobDetailColumns + "\nWHERE job_name = @p1;"

// JobDetail returns a job. It returns [dberror.ErrJobNotFound] when there is none of this name.
func (s *Store) JobDetail(ctx context.Context, name string) (JobDetail, error) {
	list, err := call.SelectAll[JobDetail](ctx, s.conn, "read job", jobDetailQuery, name)
	return call.OnlyRow(list, err, "read job", dberror.ErrJobNotFound)
}

// JobRolloutPlan is the plan by which the runs of a job's current version are rolled out.
type JobRolloutPlan struct {
	JobName    string `db:"job_name"`
	JobVersion int    `db:"job_version"`
	// Plan is a JSON object with all members; empty if the job has no plan.
	Plan string `db:"rollout_plan"`
	// Description is the plan in English words.
	Description string `db:"description"`
}

// JobRolloutPlan returns the plan of a job. It returns [dberror.ErrJobNotFound] when there is no
// such job.
func (s *Store) JobRolloutPlan(ctx context.Context, name string) (JobRolloutPlan, error) {
	list, err := call.SelectAll[JobRolloutPlan](ctx, s.conn, "read the plan of a job's roll-outs", `SELECT d.job_name, d.job_version,
    COALESCE(p.rollout_plan, N'') AS rollout_plan, COALESCE(p.description, N'') AS description
FROM jobs.job_details AS d
LEFT JOIN jobs.job_rollout_plans AS p ON p.job_id = d.job_id AND p.job_version = d.job_version
WHERE d.job_name = @p1;`, name)
	return call.OnlyRow(list, err, "read the plan of a job's roll-outs", dberror.ErrJobNotFound)
}

// JobDetails lists the jobs that are not system jobs by name.
func (s *Store) JobDetails(ctx context.Context, p Page[string]) ([]JobDetail, error) {
	w := p.Filter("job_name", ">")
	w.Add("is_system = 0")
	return call.SelectAll[JobDetail](ctx, s.conn, "list jobs", jobDetailColumns+w.Text()+"\nORDER BY job_name"+p.Text(w)+";", w.Args...)
}

// JobVersions lists the numbers of a job's versions.
func (s *Store) JobVersions(ctx context.Context, jobName string, p Page[int]) ([]int, error) {
	w := p.Filter("job_version", ">")
	w.Add("job_name = %s", jobName)
	return call.SelectAll[int](ctx, s.conn, "list job versions", `SELECT job_version
FROM jobs.job_versions`+w.Text()+"\nORDER BY job_version"+p.Text(w)+";", w.Args...)
}

// PageOfJobSteps lists the steps of a version of a job by their positions. A nil version means the
// current one.
func (s *Store) PageOfJobSteps(ctx context.Context, jobName string, version *int, p Page[int]) ([]JobStep, error) {
	w := p.Filter("v.step_id", ">")
	w.Add("v.job_name = %s", jobName)
	view := "jobs.jobsteps"
	if version != nil {
		view = "jobs.jobstep_versions"
		w.Add("v.job_version = %s", *version)
	}
	return call.SelectAll[JobStep](ctx, s.conn, "list job steps", `SELECT `+jobStepColumns+`
FROM `+view+` AS v`+jobStepOptions+w.Text()+"\nORDER BY v.step_id"+p.Text(w)+";", w.Args...)
}

// JobStep returns a step of a version of a job; a nil version means the current one. It returns
// [dberror.ErrStepNotFound] when there is none of this name.
func (s *Store) JobStep(ctx context.Context, jobName string, version *int, stepName string) (JobStep, error) {
	query, args := jobStepQuery(jobName, version, stepName)
	list, err := call.SelectAll[JobStep](ctx, s.conn, "read job step", query, args...)
	return call.OnlyRow(list, err, "read job step", dberror.ErrStepNotFound)
}

// jobStepQuery returns the query of JobStep, and its arguments.
func jobStepQuery(jobName string, version *int, stepName string) (string, []any) {
	w := call.NewFilter(1)
	w.Add("v.job_name = %s", jobName)
	view := "jobs.jobsteps"
	if version != nil {
		view = "jobs.jobstep_versions"
		w.Add("v.job_version = %s", *version)
	}
	w.Add("v.step_name = %s", stepName)
	return `SELECT TOP (@p1) ` + jobStepColumns + `
FROM ` + view + ` AS v` + jobStepOptions + w.Text() + ";", w.Args
}

// TargetGroupDetail is a target group with its members.
type TargetGroupDetail struct {
	TargetGroup
	Revision int64 `db:"revision"`
	// Members are in the order in which they were given.
	Members []targets.Member `db:"-"`
	// Unread says that the members were not read, because the list before has its members already.
	Unread bool `db:"-"`
}

const targetGroupColumns = `SELECT target_group_name, target_group_id, revision
FROM jobs.target_group_revisions`

const targetGroupQuery = targetGroupColumns + "\nWHERE target_group_name = @p1;"

// TargetGroup returns a target group. The error is [dberror.ErrGroupNotFound] when none has this
// name.
func (s *Store) TargetGroup(ctx context.Context, name string) (TargetGroupDetail, error) {
	list, err := call.SelectAll[TargetGroupDetail](ctx, s.conn, "read target group", targetGroupQuery, name)
	if err == nil {
		err = s.addMembers(ctx, list)
	}
	return call.OnlyRow(list, err, "read target group", dberror.ErrGroupNotFound)
}

// TargetGroupDetails lists the target groups by name. The list has a number of members at most, or
// one group: if more follow, it ends with a group whose members are unread.
func (s *Store) TargetGroupDetails(ctx context.Context, p Page[string], members int) ([]TargetGroupDetail, error) {
	w := p.Filter("target_group_name", ">")
	list, err := call.SelectAll[TargetGroupDetail](ctx, s.conn, "list target groups",
		targetGroupColumns+w.Text()+"\nORDER BY target_group_name"+p.Text(w)+";", w.Args...)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	counts, err := call.SelectAll[struct {
		Group   uuid.UUID `db:"target_group_id"`
		Members int       `db:"members"`
	}](ctx, s.conn, "count target group members", `SELECT target_group_id, COUNT(*) AS members
FROM jobs.target_group_member_details
WHERE target_group_name >= @p1
    AND target_group_name <= @p2
GROUP BY target_group_id;`, list[0].Name, list[len(list)-1].Name)
	if err != nil {
		return nil, err
	}
	of := map[uuid.UUID]int{}
	for _, c := range counts {
		of[c.Group] = c.Members
	}
	sum := of[list[0].ID]
	for i := 1; i < len(list); i++ {
		if sum += of[list[i].ID]; sum > members {
			list[i].Unread = true
			return list[:i+1], s.addMembers(ctx, list[:i])
		}
	}
	return list, s.addMembers(ctx, list)
}

// groupMemberRow is a row of membersQuery.
type groupMemberRow struct {
	Group uuid.UUID `db:"target_group_id"`
	targets.Member
}

const membersQuery = `SELECT target_group_id, ` + memberColumns + `
FROM jobs.target_group_member_details
WHERE target_group_name >= @p1
    AND target_group_name <= @p2
ORDER BY target_group_id, member_id;`

// addMembers reads the members of groups, which are in the order of their names without gaps.
func (s *Store) addMembers(ctx context.Context, groups []TargetGroupDetail) error {
	if len(groups) == 0 {
		return nil
	}
	rows, err := call.SelectAll[groupMemberRow](ctx, s.conn, "list target group members", membersQuery, groups[0].Name, groups[len(groups)-1].Name)
	if err != nil {
		return err
	}
	members := map[uuid.UUID][]targets.Member{}
	for _, r := range rows {
		members[r.Group] = append(members[r.Group], r.Member)
	}
	for i := range groups {
		groups[i].Members = members[groups[i].ID]
	}
	return nil
}
