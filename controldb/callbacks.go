package controldb

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"
)

// CallbackToken is the hash of the secret token in a callback's address.
type CallbackToken [sha256.Size]byte

// HashToken returns the hash of a token. Only hashes reach the control database (I9).
func HashToken(token string) CallbackToken { return sha256.Sum256([]byte(token)) }

// Send is an attempt of an action that is about to send its request.
type Send struct {
	Task TaskID
	// Attempt must be the task's current attempt.
	Attempt int
	// Callback is nil unless the request tells where a report ends the action.
	Callback *CallbackToken
	// CallbackTimeout is the time that a report has; 0 means the setting
	// async_exec_timeout_seconds.
	CallbackTimeout time.Duration
}

// sendJSON is the form of a Send in the argument of begin_send.
type sendJSON struct {
	TaskID    TaskID `json:"task_id"`
	Attempt   int    `json:"attempt"`
	TokenHash string `json:"token_hash,omitempty"`
	Timeout   int64  `json:"callback_timeout_seconds,omitempty"`
}

// BeginSend records that the attempts are about to send their requests, and opens their callbacks.
// It returns the attempts that must not send, because the term no longer holds their tasks. When
// the term has ended, none may send, and the error is [ErrTermEnded]. After any other error, none
// may send either.
func (s *Store) BeginSend(ctx context.Context, term TermID, sends []Send) ([]Refusal, error) {
	if len(sends) == 0 {
		return nil, nil
	}
	list := make([]sendJSON, 0, len(sends))
	for _, a := range sends {
		j := sendJSON{TaskID: a.Task, Attempt: a.Attempt}
		if a.Callback != nil {
			j.TokenHash = hex.EncodeToString(a.Callback[:])
		}
		if a.CallbackTimeout > 0 {
			j.Timeout = seconds(a.CallbackTimeout)
		}
		list = append(list, j)
	}
	text, err := json.Marshal(list)
	if err != nil {
		return nil, fmt.Errorf("begin to send: write the attempts as JSON: %w", err)
	}
	var refusals []Refusal
	err = s.query(ctx, "begin to send",
		newCall("jobs_internal.begin_send").in("term_id", int64(term)).in("sends", string(text)),
		into(&refusals))
	return refusals, err
}
