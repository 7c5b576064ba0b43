// Package secret seals secrets for the keys of agents. A sealed secret can be stored in the control
// database: nobody can open it without the private key of one of its recipients (invariant I9).
//
// The value is encrypted with AES-256-GCM under a random data key, which is used once. The data key
// is sealed with HPKE (RFC 9180: X25519, HKDF-SHA256, AES-256-GCM) for each recipient. Both are
// bound to the control database, to the owner and name of the secret and to its version, so that a
// sealed secret that is copied to another place cannot be opened there.
package secret
