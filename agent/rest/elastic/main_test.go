package elastic_test

import (
	"fmt"
	"os"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/jobagent/jobagent/agent/rest"
	"github.com/jobagent/jobagent/agent/rest/elastic"
	"github.com/jobagent/jobagent/testenv"
	"github.com/jobagent/jobagent/testenv/front"
)

// pageSize is the size of pages in these tests.
const pageSize = 2

func TestMain(m *testing.M) {
	testenv.Overlap(4)
	code := front.Main(m, func(_ testing.TB, f *front.Front) []*rest.Mount {
		return []*rest.Mount{{ARM: true, Surface: elastic.New(elastic.Config{
			Directory: f.Directory, HasCredential: func(name string) bool { return name == "configured" },
			PageSize: pageSize, PollAfter: 20 * time.Millisecond,
		})}}
	})
	if err := goleak.Find(); code == 0 && err != nil {
		fmt.Fprintln(os.Stderr, err)
		code = 1
	}
	os.Exit(code)
}
