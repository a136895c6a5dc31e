from discreet.learning.additive_logistic import AdditiveLogistic as AdditiveLogistic
from discreet.learning.additive_model import AdditiveModel as AdditiveModel
from discreet.learning.declared import Choices as Choices
from discreet.learning.declared import Range as Range
from discreet.learning.estimators.additive_classifier import AdditiveClassifier as AdditiveClassifier
