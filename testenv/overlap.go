package testenv

import (
	"flag"
	"strconv"
)

// Overlap sets how many parallel tests of a package run at once, for packages whose tests wait most
// of the time: with one test for each processor, the processors are idle meanwhile. The flag
// -parallel of the command line takes precedence. Call it in TestMain, before the tests run.
func Overlap(tests int) {
	if err := flag.Set("test.parallel", strconv.Itoa(tests)); err != nil {
		panic(err) // the package has no tests
	}
}
