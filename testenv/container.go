package testenv

import (
	"context"
	"crypto/rand"
	"database/sql"
	"fmt"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

const (
	// envContainer requests a container: 1, or the name of an image.
	envContainer = "JOBAGENT_TEST_CONTAINER"
	// defaultImage is Microsoft's image of SQL Server 2022.
	defaultImage = "mcr.microsoft.com/mssql/server:2022-latest"
	// containerStart is the time limit for a container to answer. At its first start, SQL Server
	// upgrades its databases.
	containerStart = 3 * time.Minute
)

// container is the only container of a test process. It outlives single tests.
var container struct {
	once sync.Once
	dsn  string
	err  error
}

// containerDSN starts the container if JOBAGENT_TEST_CONTAINER requests one, once per process, and
// returns its connection string. It returns "" without a request. A container that cannot be
// started fails the test.
func containerDSN(t testing.TB) string {
	t.Helper()
	image := os.Getenv(envContainer)
	if image == "" {
		return ""
	}
	if image == "1" {
		image = defaultImage
	}
	container.once.Do(func() { container.dsn, container.err = startContainer(context.WithoutCancel(t.Context()), image) })
	if container.err != nil {
		t.Fatalf("start a container of %s: %v", image, container.err)
	}
	return container.dsn
}

// containerEngine returns docker or podman, the first that is running.
func containerEngine(ctx context.Context) (string, error) {
	for _, name := range []string{"docker", "podman"} {
		if exec.CommandContext(ctx, name, "info").Run() == nil {
			return name, nil
		}
	}
	return "", fmt.Errorf("neither docker nor podman answers; unset %s or start one of them", envContainer)
}

// startContainer runs a container and waits until it answers.
func startContainer(ctx context.Context, image string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, containerStart)
	defer cancel()
	engine, err := containerEngine(ctx)
	if err != nil {
		return "", err
	}
	secret := "Aa1-" + rand.Text()
	start := exec.CommandContext(ctx, engine, "run", "--rm", "--detach", "--publish", "127.0.0.1::1433",
		"--env", "ACCEPT_EULA=Y", "--env", "MSSQL_SA_PASSWORD", "--stop-timeout", "5", image)
	start.Env = append(os.Environ(), "MSSQL_SA_PASSWORD="+secret) // other users of the machine can read the command line
	out, err := start.Output()
	if err != nil {
		return "", fmt.Errorf("%s run: %w", engine, err)
	}
	id := strings.TrimSpace(string(out))
	port, err := exec.CommandContext(ctx, engine, "port", id, "1433/tcp").Output()
	if err != nil {
		return "", fmt.Errorf("%s port: %w", engine, err)
	}
	address, _, _ := strings.Cut(strings.TrimSpace(string(port)), "\n")
	dsn := (&url.URL{
		Scheme: "sqlserver", User: url.UserPassword("sa", secret), Host: address,
		RawQuery: url.Values{"TrustServerCertificate": {"true"}}.Encode(),
	}).String()
	return dsn, waitForServer(ctx, dsn)
}

// waitForServer pings until the server answers or ctx ends.
func waitForServer(ctx context.Context, dsn string) error {
	db, err := sql.Open("sqlserver", dsn)
	if err != nil {
		return fmt.Errorf("open %s", redactedURL(dsn))
	}
	defer db.Close()
	retry := time.NewTicker(time.Second)
	defer retry.Stop()
	for {
		if err = db.PingContext(ctx); err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server does not answer: %w", err)
		case <-retry.C:
		}
	}
}
