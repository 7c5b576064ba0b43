//go:build unix

package main

import (
	"bytes"
	"flag"
	"fmt"
	"math/rand/v2"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/earlier"
)

// A long run, with agents and a front of an earlier commit:
//
//	git worktree add /tmp/earlier 5ba123d8 && (cd /tmp/earlier && go build -o /tmp/jobagent-earlier ./cmd/jobagent)
//	go test ./cmd/jobagent -run TestMigrations -migrations.duration=20m -migrations.program=/tmp/jobagent-earlier -timeout 60m -v
var (
	migrationsDuration = flag.Duration("migrations.duration", time.Second, "how long TestMigrations begins new rounds; at least one")
	migrationsPhase    = flag.Duration("migrations.phase", time.Second, "how long a round breaks processes before the migration, and after it")
	migrationsSeed     = flag.Uint64("migrations.seed", 0, "seed of the first round of TestMigrations; 0: a new one")
	migrationsProgram  = flag.String("migrations.program", "", "executable of an earlier release, which installs the schema and runs the agents and a front before the migration; empty: version 28 of the schema, and agents of this release")
)

// migrationTime limits a migration under failures.
const migrationTime = 90 * time.Second

// TestMigrations migrates a control database of an earlier version under load, while servers and
// agents fail as in TestCrash and the migration is killed and repeated. Nothing may be lost or done
// twice. From the second round on, or with a seed, the backup of before the migration is put back
// then, and migrated again.
func TestMigrations(t *testing.T) {
	testenv.Long(t)
	seed := *migrationsSeed
	if seed == 0 {
		seed = rand.Uint64()
	}
	end := time.Now().Add(*migrationsDuration)
	for back := *migrationsSeed != 0; ; back = true { // the default run is one short round
		t.Run(fmt.Sprint(seed), func(t *testing.T) { migrationRound(t, seed, back) })
		if seed++; t.Failed() || !time.Now().Before(end) {
			return
		}
	}
}

// migrationRound is one round of TestMigrations. With back, it ends with the restore of a backup of
// before the migration.
func migrationRound(t *testing.T, seed uint64, back bool) {
	r := newRestores(t, seed)
	r.begin()
	r.oneRelease = true
	if r.program = *migrationsProgram; r.program != "" {
		r.earlier = map[int]bool{0: true, 1: true}
		out, err := r.earlierCommand("db", "install").CombinedOutput()
		require.NoError(t, err, "%s", out)
	} else {
		require.NoError(t, earlier.Install(t.Context(), r.control, earlier.Version28))
	}
	r.defineAll()
	r.startAgents(2)
	work := func() { r.startRun(r.store) }
	var front *upgradedFront
	if r.program != "" {
		front = r.newFront()
		work = func() {
			r.startRun(r.store)
			front.startRun()
		}
	}
	r.breakThings(*migrationsPhase, *crashPause, work)
	if r.program == "" {
		require.NotZero(t, r.logged("the control schema has version 28 and this program needs"), "agents of this release wait for the migration")
	}
	if back {
		r.backup()
		r.backups[0].older = true
	}
	r.migrateUnderFailures(work)
	if r.program != "" { // agents and the front are updated one after the other; the first ones go back for a time
		front.works()
		for n, i := range []int{0, 0, 1, 0} {
			r.earlier[i] = !r.earlier[i]
			_ = r.agents[i].cmd.Process.Signal(syscall.SIGTERM) // the process may have ended
			<-r.agents[i].ended
			r.startAgent(i)
			r.breakThings(*migrationsPhase/2, *crashPause, work)
			front.start(n == 1)
			front.works()
			r.breakThings(*migrationsPhase/2, *crashPause, work)
		}
		t.Logf("runs started by fronts: %d of the earlier release, %d of this one", front.acknowledged[true], front.acknowledged[false])
	} else {
		r.breakThings(*migrationsPhase, *crashPause, work)
	}
	r.run("db", "verify")
	r.finish()
	if back {
		r.restore(byRunbook, r.backups[0])
		r.run("db", "verify")
		r.breakThings(*migrationsPhase/2, *crashPause, work)
		r.finish()
	}
}

// earlierCommand returns a command of the earlier release.
func (r *restores) earlierCommand(args ...string) *exec.Cmd {
	cmd := r.command(args...)
	cmd.Path, cmd.Args[0] = r.program, r.program
	return cmd
}

// migrateUnderFailures migrates the control database, while the server and the agents fail and the
// migration is killed at random. It is repeated until it succeeds.
func (r *restores) migrateUnderFailures(work func()) {
	t := r.t
	limit := time.Now().Add(migrationTime)
	var out *bytes.Buffer
	var cmd *exec.Cmd
	var ended chan error
	var kill <-chan time.Time
	begin := func() {
		cmd, out, ended = r.command("db", "migrate"), &bytes.Buffer{}, make(chan error, 1)
		cmd.Stdout, cmd.Stderr = out, out
		require.NoError(t, cmd.Start())
		go func() { ended <- cmd.Wait() }() // ends with the process
		kill = time.After(time.Duration(r.rng.ExpFloat64() * float64(2*commandTime)))
	}
	r.breakUntil(*crashPause, work, func() bool {
		if ended == nil && !r.broken(serverPlace) {
			begin()
		}
		select {
		case <-kill:
			_ = cmd.Process.Kill() // the process may have ended
		case err := <-ended:
			if err == nil {
				r.counts["migrated"]++
				return true
			}
			if time.Now().After(limit) {
				t.Fatalf("the migration has not ended in %s: %v: %s", migrationTime, err, out)
			}
			if strings.Contains(err.Error(), "killed") {
				r.counts["migration killed"]++
			} else {
				r.counts["migration failed"]++
				t.Logf("the migration failed, and is repeated: %s", out)
			}
			ended, kill = nil, nil
		default:
		}
		return false
	})
}
