//go:build !linux

package testtree

import (
	"errors"
	"fmt"
)

var errLinux = fmt.Errorf("testtree needs Linux: %w", errors.ErrUnsupported)

// Make is Build without a test.
func Make(root, text string) error { return errLinux }

func describe(root string, what Mask) ([]item, error) { return nil, errLinux }
