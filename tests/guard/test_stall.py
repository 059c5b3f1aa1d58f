"""Steps that do not end: how long each may take, and what is said then."""

from cifar10.guard import stall as stall_lib


class Save:
  """A LastSave."""

  is_saving, count = False, 0

  def __call__(self):
    return 'Step 1 is saved in y'


class Stall:
  """A StallCheck, and the work that it looks at; the test moves its clock."""

  def __init__(self, save=None, stall_secs=100, count=0):
    self.count, self.read, self.now, self.signals = count, 0, 0.0, []
    self.waits_for_chief = False
    self.check = stall_lib.StallCheck(self, save, self.signals, stall_secs,
                                      clock=lambda: self.now)
    assert self.check() is None

  def progress(self):
    return self.count

  def bytes_read(self):
    return self.read

  def chief_may_save(self):
    return self.waits_for_chief

  def waits_for(self):
    return 'x'

  def step(self, seconds):
    assert self.after(seconds - 1) is None
    self.count += 1
    assert self.after(1) is None

  def after(self, seconds):
    problem = None
    for _ in range(seconds):
      self.now += 1
      problem = problem or self.check()
    return problem


def test_a_step_may_take_stall_secs():
  stall = Stall(Save())
  stall.step(110)  # The first one may take longer.
  stall.step(1)
  assert stall.after(100) is None
  assert stall.after(1) == (
      'no step for 100 s (--stall_secs), waiting for x. Step 1 is saved in y')


def test_after_a_signal_the_limit_is_short_but_not_for_slow_steps():
  quick, slow = Stall(), Stall()
  quick.step(1)
  quick.signals.append(15)
  assert quick.after(5) is None
  assert quick.after(1) == 'no step for 5 s, waiting for x'
  slow.step(10)
  slow.signals.append(15)
  assert slow.after(30) is None
  assert slow.after(1) == 'no step for 30 s, waiting for x'


def test_steps_before_the_first_look_are_steps():
  # A quick trainer takes many of them, and hangs before the second look.
  stall = Stall(count=49)
  stall.signals.append(15)
  assert stall.after(5) is None
  assert stall.after(1) == 'no step for 5 s, waiting for x'


def test_the_first_step_has_more_time_and_the_error_says_so():
  stall = Stall()
  assert stall.after(120) is None
  assert stall.after(1) == ('no step for 120 s (--stall_secs, and 20 s for the '
                            'first step), waiting for x')


def test_the_time_when_the_process_is_stopped_does_not_count():
  stall = Stall()
  stall.step(1)
  stall.now += 1000  # Ctrl-Z, and later `fg`.
  assert stall.after(95) is None
  assert stall.after(6) is not None


def test_a_step_may_wait_as_long_as_the_input_reads():
  stall = Stall()
  for _ in range(6):
    assert stall.after(50) is None
    stall.read += 1 << 20
  assert stall.after(75) is None
  assert stall.after(80) is not None
  # But not after a signal.
  stall = Stall()
  stall.step(1)
  stall.signals.append(2)
  stall.read += 1 << 20
  assert stall.after(6) == 'no step for 5 s, waiting for x'


def test_a_save_may_take_stall_secs_after_a_signal_too():
  stall = Stall(Save())
  stall.step(1)
  stall.signals.append(2)
  for _ in range(2):
    stall.check.save.is_saving = True
    assert stall.after(95) is None  # With the seconds before it, 100.
    stall.check.save.is_saving = False
    stall.check.save.count += 1
    assert stall.after(5) is None  # For the end of the step.
  stall.check.save.is_saving = True
  assert stall.after(100) == (
      'no step for 100 s (--stall_secs), waiting for x. Step 1 is saved in y')


def test_a_worker_in_step_waits_for_a_save_of_the_chief():
  stall = Stall()
  stall.waits_for_chief = True
  stall.step(1)
  stall.signals.append(15)
  assert stall.after(99) is None
  stall.waits_for_chief = False  # The chief no longer answers.
  assert stall.after(1) == 'no step for 5 s, waiting for x'


def test_the_last_save_has_a_limit_too():
  stall = Stall()
  stall.step(1)
  assert stall.after(90) is None
  stall.check.expect_end()
  assert stall.after(100) is None
  assert stall.after(1) == (
      'saving the last step takes longer than 100 s (--stall_secs)')
