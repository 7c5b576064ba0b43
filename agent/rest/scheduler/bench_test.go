package scheduler_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/scheduler"
	"github.com/jobagent/jobagent/testenv/front"
)

// BenchmarkRequests measures requests without the network: a page of a history beside other runs of
// the job, a job, and a job that is put again unchanged.
func BenchmarkRequests(b *testing.B) {
	f := front.Start(b, func(_ testing.TB, f *front.Front) []*rest.Mount {
		return []*rest.Mount{{Surface: scheduler.New(scheduler.Config{}, f.Directory, nil), ARM: true}}
	})
	job := front.C + "/bench/jobs/h1"
	require.Equal(b, 201, f.Do(b, "PUT", front.C+"/bench"+version, `{"location":"onprem"}`).Status)
	body := httpJob(f, "/ok")
	require.Equal(b, 201, f.Do(b, "PUT", job+version, body).Status)
	require.Equal(b, 200, f.Do(b, "POST", job+"/run"+version, nil).Status)
	require.Eventually(b, func() bool {
		list, _ := f.Do(b, "GET", job+"/history"+version, nil).At(b, "value").([]any)
		return len(list) == 1
	}, 10*time.Second, 10*time.Millisecond)
	measure := func(name, method, path string, body any) {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				if a := f.Do(b, method, path, body); a.Status != 200 {
					b.Fatal(a)
				}
			}
		})
	}
	runs := 1
	for _, n := range []int{100, 1000, 5000} {
		_, err := f.DB(b, f.Control).ExecContext(b.Context(), moreRuns, n-runs)
		require.NoError(b, err)
		runs = n
		measure(fmt.Sprintf("history/runs=%d", n), "GET", job+"/history"+version+"&$top=20", nil)
		measure(fmt.Sprintf("job/runs=%d", n), "GET", job+version, nil)
	}
	measure("put", "PUT", job+version, body)
}

// moreRuns copies the first run @p1 times, into the past.
const moreRuns = `
DECLARE @made TABLE (execution_id BIGINT NOT NULL PRIMARY KEY);
DECLARE @first BIGINT = (SELECT MIN(e.execution_id) FROM jobs_internal.job_executions AS e);
INSERT INTO jobs_internal.job_executions (job_execution_id, job_id, job_version, lifecycle, is_active, create_time, start_time, end_time)
OUTPUT inserted.execution_id INTO @made (execution_id)
SELECT NEWID(), e.job_id, e.job_version, N'Succeeded', 0, DATEADD(MINUTE, -n.n, e.create_time), e.create_time, e.create_time
FROM jobs_internal.job_executions AS e
CROSS JOIN (
    SELECT TOP (@p1) ROW_NUMBER() OVER (ORDER BY a.object_id) AS n
    FROM sys.all_objects AS a CROSS JOIN sys.all_objects AS b
) AS n
WHERE e.execution_id = @first;
INSERT INTO jobs_internal.step_executions (execution_id, job_id, job_version, step_id, lifecycle, is_active, create_time, end_time)
SELECT m.execution_id, s.job_id, s.job_version, s.step_id, N'Succeeded', 0, s.create_time, s.create_time
FROM @made AS m CROSS JOIN jobs_internal.step_executions AS s
WHERE s.execution_id = @first;
INSERT INTO jobs_internal.target_executions (
    execution_id, step_execution_id, job_id, step_id, queue_id, ordinal, target_id, server_name, database_name, lifecycle, is_active,
    create_time, end_time, attempts, is_endpoint
)
SELECT m.execution_id, s.step_execution_id, s.job_id, s.step_id, t.queue_id, 1, t.target_id, t.server_name, N'', N'Succeeded', 0,
    t.create_time, t.create_time, 1, 1
FROM @made AS m
INNER JOIN jobs_internal.step_executions AS s ON s.execution_id = m.execution_id
CROSS JOIN jobs_internal.target_executions AS t
WHERE t.execution_id = @first;
INSERT INTO jobs_internal.task_executions (
    kind, execution_id, step_execution_id, target_execution_id, attempt, term_id, claimed_at, ended_at, outcome, message
)
SELECT N'Run', m.execution_id, t.step_execution_id, t.target_execution_id, 1, 1, t.create_time, t.create_time, N'Succeeded', N''
FROM @made AS m
INNER JOIN jobs_internal.target_executions AS t ON t.execution_id = m.execution_id;`
