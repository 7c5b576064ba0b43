// Package kdc starts MIT Kerberos' key distribution center for tests, on a port of the loopback
// interface, with all of its files in a temporary directory. Tests that need it are skipped where
// Debian's packages krb5-kdc, krb5-admin-server and krb5-user are not installed (.ci/kerberos).
package kdc

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

// Realm is the realm of every KDC of this package.
const Realm = "EXAMPLE.TEST"

// IgnoreReplayCache lets goleak ignore the goroutine of gokrb5 that cleans the cache of used
// tickets as long as the process lives. Its name depends on what the compiler has inlined.
func IgnoreReplayCache() []goleak.Option {
	const service = "github.com/jcmturner/gokrb5/v8/service."
	return []goleak.Option{
		goleak.IgnoreAnyFunction(service + "GetReplayCache.func1.1"), goleak.IgnoreAnyFunction(service + "VerifyAPREQ.GetReplayCache.func1.1"),
	}
}

// KDC is a running KDC. Its methods fail the test.
type KDC struct {
	dir    string
	tools  tools
	Config string // path of the clients' krb5.conf
	env    []string
}

// tools are the paths of programs, and of the library that shifts a program's clock.
type tools struct{ kdc, admin, create, kinit, faketime string }

// find returns the path of a program, which Debian may install outside of a user's PATH.
func find(name string) string {
	for _, dir := range []string{"", "/usr/sbin/", "/sbin/"} {
		if path, err := exec.LookPath(dir + name); err == nil {
			return path
		}
	}
	return ""
}

// Start makes a realm and starts its KDC. It skips the test where the programs are missing.
func Start(t testing.TB) *KDC {
	t.Helper()
	k := &KDC{dir: t.TempDir(), tools: tools{kdc: find("krb5kdc"), admin: find("kadmin.local"),
		create: find("kdb5_util"), kinit: find("kinit")}}
	// The program faketime would leave its child behind when it is killed; its library does not.
	if libraries, _ := filepath.Glob("/usr/lib/*/faketime/libfaketime.so.1"); len(libraries) > 0 {
		k.tools.faketime = libraries[0]
	}
	if k.tools.kdc == "" || k.tools.admin == "" || k.tools.create == "" || k.tools.kinit == "" {
		t.Skip("MIT Kerberos is not installed: bash .ci/kerberos installs krb5-kdc, krb5-admin-server and krb5-user")
	}
	port := freePort(t)
	k.Config, k.env = k.profile(t, "kdc", port)
	k.run(t, k.env, k.tools.create, "create", "-s", "-r", Realm, "-P", "master")
	k.serve(t, k.env)
	return k
}

// freePort returns a TCP port of the loopback interface that is free at the moment.
func freePort(t testing.TB) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// profile writes the configuration of a KDC and of its clients, and returns the clients' file and
// the environment of the programs.
func (k *KDC) profile(t testing.TB, name string, port int) (config string, env []string) {
	t.Helper()
	config = filepath.Join(k.dir, name+"-krb5.conf")
	profile := filepath.Join(k.dir, name+".conf")
	require.NoError(t, os.WriteFile(config, fmt.Appendf(nil, `[libdefaults]
 default_realm = %[1]s
 dns_lookup_kdc = false
 dns_lookup_realm = false
 dns_canonicalize_hostname = false
 rdns = false
 udp_preference_limit = 1
[realms]
 %[1]s = {
  kdc = 127.0.0.1:%[2]d
 }
`, Realm, port), 0o600))
	require.NoError(t, os.WriteFile(profile, fmt.Appendf(nil, `[kdcdefaults]
 kdc_listen = ""
 kdc_tcp_listen = 127.0.0.1:%[2]d
[realms]
 %[1]s = {
  database_name = %[3]s/principal
  key_stash_file = %[3]s/stash
  acl_file = %[3]s/acl
  max_life = 10h
  default_principal_flags = +preauth
  supported_enctypes = aes256-cts:normal aes128-cts:normal
 }
[logging]
 kdc = STDERR
`, Realm, port, k.dir), 0o600))
	env = append(os.Environ(), "KRB5_CONFIG="+config, "KRB5_KDC_PROFILE="+profile, "LC_ALL=C")
	return config, env
}

// serve starts a KDC and waits until it listens. The KDC ends with the test.
func (k *KDC) serve(t testing.TB, env []string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, k.tools.kdc, "-n")
	cmd.Env = env
	log, err := cmd.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	ready, ended := make(chan bool, 1), make(chan struct{})
	go func() {
		defer close(ended)
		told := false
		for lines := bufio.NewScanner(log); lines.Scan(); {
			if !told && strings.Contains(lines.Text(), "commencing operation") {
				told = true
				ready <- true
			}
		}
		if !told {
			ready <- false
		}
	}()
	t.Cleanup(func() {
		stop()
		<-ended
		_ = cmd.Wait()
	})
	require.True(t, <-ready, "the KDC does not start")
}

// run executes a program of Kerberos and returns its output.
func (k *KDC) run(t testing.TB, env []string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), args[0], args[1:]...)
	cmd.Env = env
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s: %s", strings.Join(args, " "), out)
	return string(out)
}

// AddUser makes a principal with a password.
func (k *KDC) AddUser(t testing.TB, name, password string) {
	t.Helper()
	k.run(t, k.env, k.tools.admin, "-r", Realm, "-q", fmt.Sprintf("addprinc -pw %s %s", password, name))
}

// AddService makes a principal with a random key.
func (k *KDC) AddService(t testing.TB, spn string) {
	t.Helper()
	k.run(t, k.env, k.tools.admin, "-r", Realm, "-q", "addprinc -randkey "+spn)
}

// Keytab writes the key of principals into a new keytab, and returns its path. The keys stay as
// they are.
func (k *KDC) Keytab(t testing.TB, principals ...string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "keytab")
	for _, one := range principals {
		k.run(t, k.env, k.tools.admin, "-r", Realm, "-q", fmt.Sprintf("ktadd -norandkey -k %s %s", path, one))
	}
	return path
}

// ChangePassword gives a principal another password, so that older keytabs have a wrong key.
func (k *KDC) ChangePassword(t testing.TB, name, password string) {
	t.Helper()
	k.run(t, k.env, k.tools.admin, "-r", Realm, "-q", fmt.Sprintf("cpw -pw %s %s", password, name))
}

// Cache gets a ticket with a keytab, and returns the path of the credential cache.
func (k *KDC) Cache(t testing.TB, user, keytab string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "cache")
	k.run(t, k.env, k.tools.kinit, "-k", "-t", keytab, "-c", "FILE:"+path, user)
	return path
}

// Shifted starts a second KDC of the realm whose clock is ahead (or, if negative, behind), and
// returns a KDC for its clients. It skips the test where faketime is missing.
func (k *KDC) Shifted(t testing.TB, by time.Duration) *KDC {
	t.Helper()
	if k.tools.faketime == "" {
		t.Skip("faketime is not installed: bash .ci/kerberos installs it")
	}
	other := &KDC{dir: k.dir, tools: k.tools}
	other.Config, other.env = other.profile(t, fmt.Sprintf("shifted%d", freePort(t)), freePort(t))
	other.env = append(other.env, "LD_PRELOAD="+k.tools.faketime, fmt.Sprintf("FAKETIME=%+d", int(by.Seconds())))
	other.serve(t, other.env)
	return other
}

// PastCache gets a ticket of one hour at a moment that lies so far in the past, from a KDC of this
// time, and returns the path of the credential cache.
func (k *KDC) PastCache(t testing.TB, ago time.Duration, user, keytab string) string {
	t.Helper()
	other := k.Shifted(t, -ago)
	path := filepath.Join(t.TempDir(), "cache")
	other.run(t, other.env, k.tools.kinit, "-l", "1h", "-k", "-t", keytab, "-c", "FILE:"+path, user)
	return path
}

// Alone returns a configuration of the realm whose KDC does not exist.
func (k *KDC) Alone(t testing.TB) string {
	t.Helper()
	config, _ := k.profile(t, "alone", freePort(t))
	return config
}
