"""All pictures in SVG: both styles, nothing cut off, nothing over another."""

import itertools
import os
import re
import sys

import pytest

from tests import pictures

svg = pictures.module('svg')


def test_there_are_pictures():
  assert len(pictures.PATHS) >= 11


@pytest.mark.parametrize('path', pictures.PATHS)
def test_a_picture_follows_light_and_dark_pages(path):
  content = pictures.in_docs(path)
  assert svg.STYLE in content
  # All colors are those of the style.
  assert not re.search('(?:fill|stroke)="#', content)
  names = set(re.findall(r'\.([a-z-]+)[{,]', svg.STYLE))
  for classes in re.findall('class="([^"]*)"', content):
    assert set(classes.split()) <= names, classes


@pytest.mark.parametrize('path', pictures.PATHS)
def test_a_picture_is_small_and_its_text_large(path):
  content = pictures.in_docs(path)
  assert len(content) < 60000
  width = float(re.search(r'viewBox="0 0 (\d+) ', content).group(1))
  for size in re.findall(r'font-size="(\d+)"', content):
    assert float(size) / width >= 12 / 760


@pytest.mark.parametrize('path', pictures.PATHS)
def test_text_is_inside_and_apart(path):
  content = pictures.in_docs(path)
  right, bottom = map(float,
                      re.search(r'viewBox="0 0 (\d+) (\d+)"', content).groups())
  found = list(pictures.boxes_of_text(content))
  for text, box in found:
    assert 0 <= box[0] and box[2] <= right and 0 <= box[1] and box[
        3] <= bottom, text
  for (text, a), (other, b) in itertools.combinations(found, 2):
    are_apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
    assert are_apart, (text, other)


def test_a_script_writes_its_picture(tmp_path, monkeypatch):
  out = tmp_path / 'out.svg'

  def draw():
    picture = svg.Picture(100)
    picture.text(10, 20, 'a < b')
    picture.area(0, 0, 640, 100, 'behind')
    return picture

  monkeypatch.setattr(sys, 'argv', ['draw', str(out)])
  svg.main('Draws.', draw)
  content = out.read_text()
  assert sorted(pictures.texts(content)) == ['a < b', 'behind']
  # The area is behind what was drawn before it.
  assert content.index('gray-area" x=') < content.index('a &lt; b')
  assert os.path.getsize(str(out)) < 5000
