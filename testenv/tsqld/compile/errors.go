package compile

import (
	"errors"

	"github.com/jobagent/jobagent/testenv/tsqld/meter"
	"github.com/jobagent/jobagent/testenv/tsqld/mserr"
)

// clientError converts an error of this package's exported functions to a *mserr.Error. It leaves a
// cancelled request (*meter.Stopped) unchanged.
func clientError(err error) error {
	var e *mserr.Error
	var stopped *meter.Stopped
	if err == nil || errors.As(err, &e) || errors.As(err, &stopped) {
		return err
	}
	return mserr.NotSupported("this expression (%v)", err)
}
