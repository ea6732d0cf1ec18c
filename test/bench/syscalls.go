package main

import "errors"

func syscallsMain(args []string) error { return errors.New("soon") }
